"""What is asked: problems, instances with their noise, the catalog and families of them."""

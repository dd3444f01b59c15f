"""Every HTML page: report, explanation, experiment, dashboard."""

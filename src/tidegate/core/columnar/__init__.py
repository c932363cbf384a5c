"""Windows on columns: many records at once, with the results of the window operator."""

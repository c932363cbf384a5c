"""What runs, without Spark: from the graph to the physical plan, and the subtasks that both runtimes drive."""

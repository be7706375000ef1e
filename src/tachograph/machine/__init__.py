"""Machine studies: cells planned, each isolated in a process, judged and put on a page. Nothing here imports torch."""

"""Work in the background: who has it, and when it is sent again. The row of the work is the job."""

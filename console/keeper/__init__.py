"""The loops of the active instance: sampling, history, record, jobs, schedules."""

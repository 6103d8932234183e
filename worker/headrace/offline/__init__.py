"""Files in, files out: the worker's pipeline over capture files, in bounded memory and on all cores."""

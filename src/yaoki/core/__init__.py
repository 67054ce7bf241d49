"""The pure core: values in, values out; no clock, no chance, no outside world."""

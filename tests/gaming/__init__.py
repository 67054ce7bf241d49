"""Cheats and honest twins: does the judgement of a change tell them apart?"""

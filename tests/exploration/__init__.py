"""Tests of the page with sliders."""

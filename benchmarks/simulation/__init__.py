"""Studies whose truth is known: ``noise`` draws seconds and curves, ``studies`` what the analysis makes of them."""

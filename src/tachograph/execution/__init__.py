"""Making a run: supervised under the lease, sealed, judged, published."""

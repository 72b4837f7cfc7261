"""The parts of `search.alphabeta_v2`: evaluation and its weights, move generation, the search itself."""

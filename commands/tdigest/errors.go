package tdigest

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errExists           = commands.WireError("ERR T-Digest: key already exists")
	errNoKey            = commands.WireError("ERR T-Digest: key does not exist")
	errKeyword          = commands.WireError("ERR T-Digest: wrong keyword")
	errCompression      = commands.WireError("ERR T-Digest: error parsing compression parameter")
	errCompressionRange = commands.WireError("ERR T-Digest: compression parameter needs to be a positive integer")
	errMemory           = commands.WireError("ERR T-Digest: allocation failed")
	errValue            = commands.WireError("ERR T-Digest: error parsing val parameter")
	errValueFinite      = commands.WireError("ERR T-Digest: val parameter needs to be a finite number")
	errOverflow         = commands.WireError("ERR T-Digest: overflow detected")
	errNumkeys          = commands.WireError("ERR T-Digest: error parsing numkeys")
	errNumkeysRange     = commands.WireError("ERR T-Digest: numkeys needs to be a positive integer")
	errDestination      = commands.WireError("ERR T-Digest: allocation of destination digest failed")
	errQuantile         = commands.WireError("ERR T-Digest: error parsing quantile")
	errQuantileRange    = commands.WireError("ERR T-Digest: quantile should be in [0,1]")
	errCDF              = commands.WireError("ERR T-Digest: error parsing cdf")
	errRankValue        = commands.WireError("ERR T-Digest: error parsing value")
	errRank             = commands.WireError("ERR T-Digest: error parsing rank")
	errRankRange        = commands.WireError("ERR T-Digest: rank needs to be non negative")
	errLowCut           = commands.WireError("ERR T-Digest: error parsing low_cut_percentile")
	errHighCut          = commands.WireError("ERR T-Digest: error parsing high_cut_percentile")
	errCutRange         = commands.WireError("ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]")
	errCutOrder         = commands.WireError("ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile")
)

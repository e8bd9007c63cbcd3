package cms

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errExists        = commands.WireError("CMS: key already exists")
	errNoKey         = commands.WireError("CMS: key does not exist")
	errWidth         = commands.WireError("CMS: invalid width")
	errDepth         = commands.WireError("CMS: invalid depth")
	errInit          = commands.WireError("CMS: invalid init arguments")
	errMemory        = commands.WireError("CMS: Insufficient memory to create the key")
	errRate          = commands.WireError("CMS: invalid overestimation value")
	errProbability   = commands.WireError("CMS: invalid prob value")
	errNumber        = commands.WireError("CMS: Cannot parse number")
	errNegative      = commands.WireError("CMS: Number cannot be negative")
	errOverflow      = commands.WireError("CMS: INCRBY overflow")
	errNumkeys       = commands.WireError("CMS: invalid numkeys")
	errNumkeysRange  = commands.WireError("CMS: Number of keys must be positive")
	errKeys          = commands.WireError("CMS: wrong number of keys")
	errKeysWeights   = commands.WireError("CMS: wrong number of keys/weights")
	errWeight        = commands.WireError("CMS: invalid weight value")
	errShape         = commands.WireError("CMS: width/depth is not equal")
	errItems         = commands.WireError("ERR CMS: items are too many for the depth") // vigil's own
	errMergeOverflow = commands.WireError("CMS: MERGE overflow")
)

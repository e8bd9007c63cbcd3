package topk

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errExists    = commands.WireError("TopK: key already exists")
	errNoKey     = commands.WireError("TopK: key does not exist")
	errK         = commands.WireError("TopK: invalid k")
	errWidth     = commands.WireError("TopK: invalid width")
	errDepth     = commands.WireError("TopK: invalid depth")
	errDecay     = commands.WireError("TopK: invalid decay value. must be '<= 1' & '> 0'")
	errMemory    = commands.WireError("ERR Insufficient memory to create topk data structure")
	errWithCount = commands.WireError("WITHCOUNT keyword expected")
	// errIncrement has the blanks of a line that RedisBloom continues.
	errIncrement = commands.WireError("TopK: increment must be an integer greater or equal to 0" +
		"                            and smaller or equal to 100,000")
	// errWork is vigil's own: an increment of n is up to n draws in each row.
	errWork = commands.WireError("ERR TopK: increments are too many for the depth")
	// errItems is vigil's own: each item is looked up in each row.
	errItems = commands.WireError("ERR TopK: items are too many for the depth")
)

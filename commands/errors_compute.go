package commands

// What a client can be told of computations off the locks.
const (
	ErrComputeFull = WireError("ERR too many computations wait already, try again later")
)

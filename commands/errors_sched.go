package commands

import (
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/schedule"
	"github.com/vigildb/vigil/scheduler"
)

// What a client can be told of SCHED.SIMULATE.
const (
	ErrSchedStepCount  = WireError("ERR STEPS must be from 1 to 1000000000")
	ErrSchedWork       = WireError("ERR simulation is too long: steps times probes times policies may be 1000000000 at most")
	ErrSchedWorkMulti  = WireError("ERR simulation is too long inside a transaction: steps times probes times policies may be 10000 at most")
	ErrSchedNodesMulti = WireError("ERR schedule has more than 1000 nodes: too many to compute inside a transaction")
)

// ErrSchedUnsuited says why a policy cannot be simulated on the nodes of a
// schedule.
func ErrSchedUnsuited(policy string, err error) WireError {
	why := "it would learn too much at once"
	if errors.Is(err, scheduler.ErrDecay) {
		why = "it needs a DECAY greater than 0"
	} else if !errors.Is(err, schedule.ErrUnsuited) {
		why = "of a parameter"
	}
	return WireError(fmt.Sprintf("ERR policy '%s' does not suit the nodes: %s", policy, why))
}

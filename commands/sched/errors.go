package sched

import (
	"errors"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/schedule"
)

// Errors that only this family returns, word for word as clients see them.
const (
	errNode       = commands.WireError("ERR no such node")
	errLease      = commands.WireError("ERR node is not leased")
	errItems      = commands.WireError("ERR items must be a number from 0 to 1e15")
	errName       = commands.WireError("ERR node name is longer than 8192 bytes")
	errDue        = commands.WireError("ERR STEPS times the number of nodes must be from 1 to 65536")
	errDeadline   = commands.WireError("ERR deadline is out of range")
	errNoDeadline = commands.WireError("ERR the policy does not support DEADLINE")
	errPrice      = commands.WireError("ERR price must be 0, or up to 1e15")
	errBudget     = commands.WireError("ERR budget must be 0, or from 1e-15 to 1e15")
	errNoBudget   = commands.WireError("ERR the policy does not support BUDGET")
	errGroup      = commands.WireError("ERR no such group")
	errGroupName  = commands.WireError("ERR name of a group must have 1 to 8192 bytes")
	errGroupsFull = commands.WireError("ERR schedule has too many groups")
	errLimit      = commands.WireError("ERR limit of a group is out of range")
	errSeen       = commands.WireError("ERR SEEN must be a number of probes and of items, from 0 to 1e15")
	errFull       = commands.WireError("ERR schedule has too many nodes")
	errSteps      = commands.WireError("ERR schedule has no steps left")
	errCount      = commands.WireError("ERR number of probes must be from 1 to 65536")
	errWindow     = commands.WireError("ERR K must be greater than 0 and at most 1e15")
	errNumber     = commands.WireError("ERR parameter must be a number from 0 to 1e15")
	errCost       = commands.WireError("ERR cost must be from 1e-15 to 1e15")
	errMaxAge     = commands.WireError("ERR maximum age is out of range")
	errDecay      = commands.WireError("ERR the policy needs a DECAY greater than 0")
	errArrival    = commands.WireError("ERR the policy needs an ARRIVAL")
	errShare      = commands.WireError("ERR precision and recall must be from 0 to 1, or -1")
	errMillis     = commands.WireError("ERR milliseconds are out of range")
	errExplore    = commands.WireError("ERR explored fraction must be from 0 to 1")
	errTwice      = commands.WireError("ERR a node is named twice")
	errStepCount  = commands.WireError("ERR STEPS must be from 1 to 1000000000")
	errWork       = commands.WireError("ERR simulation is too long: steps times probes times policies must be at most 1000000000")
	errWorkMulti  = commands.WireError("ERR simulation is too long inside a transaction: steps times probes times policies must be at most 10000")
	errNodesMulti = commands.WireError("ERR schedule has more than 1000 nodes: too many to compute inside a transaction")
)

// errPolicy lists the policies.
func errPolicy(name string) commands.WireError {
	var known []string
	for _, p := range scheduler.Policies() {
		known = append(known, p.Name)
	}
	return commands.Errorf("ERR unknown policy '%.64s', available: %s", name, strings.Join(known, ", "))
}

// errEstimator lists the estimators.
func errEstimator(name string) commands.WireError {
	var known []string
	for _, e := range scheduler.Estimators() {
		known = append(known, e.Name)
	}
	return commands.Errorf("ERR unknown estimator '%.64s', available: %s", name, strings.Join(known, ", "))
}

// errUnsuited says why a policy cannot be simulated on the nodes of a
// schedule.
func errUnsuited(e *schedule.UnsuitedError) commands.WireError {
	why := "of a parameter"
	switch {
	case errors.Is(e, scheduler.ErrDecay):
		why = "it needs a DECAY greater than 0"
	case errors.Is(e, schedule.ErrLearnsTooMuch):
		why = "it would have to learn too much at once"
	}
	return commands.Errorf("ERR policy '%s' does not suit the nodes: %s", e.Policy, why)
}

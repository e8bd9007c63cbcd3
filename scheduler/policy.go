package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source gives random numbers: uniform on [0, 1). *math/rand/v2.Rand is one.
type Source interface {
	Float64() float64
}

// Policy chooses nodes. It reads the table that it was attached to and keeps
// structures derived from it; it owns only the Memo fields of the table and of
// its nodes.
//
// A caller that changes a node calls Touch before the next Pick or Value, and
// gives steps that never decrease.
type Policy interface {
	// Attach takes over a table: it forgets what it derived from another and
	// derives all anew. It must give the same picks as the policy that was told
	// of every change one by one.
	Attach(t *Table)
	// Touch says that the node in a slot was added, changed, hidden, shown or
	// removed. It may write Memo when the node is new or its Probes grew, as
	// those are the changes that are recorded; it must compute the same on
	// every machine.
	Touch(slot int)
	// Pick appends to dst up to count distinct slots to probe in a step, in
	// order of choice; fewer, or none, when the policy idles or nodes are
	// hidden. It changes nothing that later calls can see: the caller hides
	// or observes the nodes that it really probes. Policies that do not draw
	// do not touch draws, and it may be nil.
	Pick(dst []int, step int64, count int, draws Source) []int
	// Learn tells what a probe found in the node of a slot after age steps,
	// before the estimator and Touch are told. Policies without Memo ignore
	// it. It must compute the same on every machine.
	Learn(slot int, age int64, items float64)
	// Regroup says that a group was opened or closed.
	Regroup(group int)
	// Value is what the policy ranks or draws the node in a slot by, if a
	// probe took place in step; 0 for a free slot.
	Value(slot int, step int64) float64
	// Bytes is the memory held beside the table.
	Bytes() int
}

// PolicySpec describes one policy. A new policy is a file that defines one,
// and a line in Policies.
type PolicySpec struct {
	Name string
	// Number is on disk and never changes.
	Number byte
	// Estimator names the default estimator.
	Estimator string
	// Rewards says that the policy earns decaying interest and is judged by
	// RewardBound; otherwise it is judged by LB3.
	Rewards bool
	// Either says that the policy goes by interest at nodes that have a decay and
	// by what waits at others: it is judged by RewardBound if any has a decay.
	Either bool
	// Arrival says that a node which is added must have an arrival rate. Nodes that
	// were stored before this was asked for, and simulations, go by the rate.
	Arrival bool
	// Ranks says that the policy takes the nodes of greatest value, so that deadlines
	// and budgets can be kept with it.
	Ranks bool
	// Check is nil or returns why a node's parameters do not suit the policy.
	Check func(*Params) error
	// Memo is the length of the Memo of a node that has one.
	Memo int
	// Cost is nil, or the exact expected cost of the policy at known rates
	// (or worths) with c probes a step, when no node is leased.
	Cost func(rates []float64, c int) float64
	// Meets says that with many nodes the policy meets the bound of its model, but for
	// what it has to learn.
	Meets bool
	// Limit is nil, or what the policy costs with many nodes at known rates (or worths):
	// see levelCost.
	Limit func(rates []float64, c int) float64
	New   func() Policy
}

var (
	// ErrPolicy is returned when no policy has the name or number asked for.
	ErrPolicy = errors.New("scheduler: unknown policy")
	// ErrEstimator is returned when no estimator has the name or number asked
	// for.
	ErrEstimator = errors.New("scheduler: unknown estimator")
)

// Policies lists the policies, the default first. Numbers 5 to 12 are reserved
// for sqrtage, stride, cyclic, greedy, roundrobin, lspe, thompson, freshness.
func Policies() []PolicySpec {
	return []PolicySpec{
		indexPolicy,
		memorylessPolicy,
		adaptivePolicy,
		whittlePolicy,
		sqrtagePolicy,
		greedyPolicy,
		roundrobinPolicy,
		freshnessPolicy,
		stridePolicy,
		cyclicPolicy,
		thompsonPolicy,
		lspePolicy,
		lagrangePolicy,
	}
}

// PolicyNamed finds a policy by its name, in any case. The error wraps
// ErrPolicy and lists the names.
func PolicyNamed(name string) (PolicySpec, error) {
	names := make([]string, 0, 12)
	for _, p := range Policies() {
		if strings.EqualFold(p.Name, name) {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return PolicySpec{}, fmt.Errorf("%w; available: %s", ErrPolicy, strings.Join(names, ", "))
}

// PolicyNumbered finds a policy by its number on disk, or returns ErrPolicy.
func PolicyNumbered(number byte) (PolicySpec, error) {
	for _, p := range Policies() {
		if p.Number == number {
			return p, nil
		}
	}
	return PolicySpec{}, ErrPolicy
}

// Explore appends up to count distinct slots drawn uniformly from the nodes
// that are not hidden and not in dst yet. It is the exploration floor of
// policies that would never look at some nodes again.
//
// Cost: O(count) draws while most slots are in use; exploreTries bounds it.
func Explore(dst []int, t *Table, count int, draws Source) []int {
	var seen chosen
	rooms := t.Begin()
	for _, slot := range dst {
		rooms.Take(t.GroupOf(slot))
	}
	for tries := exploreTries + 4*count; count > 0 && tries > 0 && t.slots > 0; tries-- {
		slot := min(int(draws.Float64()*float64(t.slots)), t.slots-1)
		if t.Hidden(slot) || seen.has(dst, slot) || !rooms.Take(t.GroupOf(slot)) {
			continue
		}
		dst = append(dst, slot)
		count--
	}
	return dst
}

// exploreTries is how often Explore draws a slot that cannot be taken before
// it gives up: with a quarter of the slots available it fails once in 10^4.
const exploreTries = 32

// chosen tells which slots are in a growing list: by looking through a short
// one, by a map for a long one, so that count draws never cost count squared.
type chosen struct {
	many map[int]struct{}
}

// manyChosen is where the map becomes quicker than the search.
const manyChosen = 64

// has says whether slot is in list, which only grew since the last call.
func (c *chosen) has(list []int, slot int) bool {
	if len(list) < manyChosen {
		return slices.Contains(list, slot)
	}
	if c.many == nil {
		c.many = make(map[int]struct{}, 2*len(list))
		for _, s := range list {
			c.many[s] = struct{}{}
		}
	}
	c.many[list[len(list)-1]] = struct{}{}
	_, ok := c.many[slot]
	return ok
}

package scheduler

import "math"

// memorylessPolicy draws each probe independently, node i with probability
//
//	p_i = sqrt(pi_i) / sum over j of sqrt(pi_j),
//
// the best of the schedules without memory and within a factor of 2 of the best
// of all for one probe a step (P1, Theorem 3 and Corollary 4). With c probes it
// makes c draws with replacement; a node drawn twice is probed once (P1,
// Corollary 5; its Definition 2 must be read as an ordered tuple).
var memorylessPolicy = PolicySpec{
	Name: "memoryless", Number: 2, Estimator: "change",
	Cost: MemorylessCost,
	New:  func() Policy { return new(sampling) },
}

// adaptivePolicy is P1's Algorithm 1, Adaptive: memoryless draws from the
// estimates, which are 1 at the start, and after a probe of node i in step t
// become max(1, c_i)/t, where c_i counts all items found there. All c draws of
// a step come from the same distribution. It converges to memoryless (Theorem
// 4), but only as t grows without bound: after a change of rates at T0 it needs
// a time proportional to T0.
var adaptivePolicy = PolicySpec{
	Name: "adaptive", Number: 3, Estimator: "paper",
	Limit: MemorylessCost,
	New:   func() Policy { return new(sampling) },
}

// sampling draws nodes with probability proportional to the root of their
// worth. Hidden nodes weigh nothing.
//
// Cost: Pick O(count log n), Touch O(log n), Attach O(n).
type sampling struct {
	table *Table
	tree  sumTree
}

func (s *sampling) Attach(t *Table) {
	s.table = t
	s.tree.weight = s.weight
	s.tree.Build(len(t.pages), func(block int) bool { return t.pages[block] != nil })
}

func (s *sampling) weight(slot int) float64 {
	if s.table.Hidden(slot) {
		return 0
	}
	return math.Sqrt(s.table.worth(slot))
}

func (s *sampling) Touch(slot int) {
	if id := slot / PageSize; id >= len(s.table.pages) || s.table.pages[id] == nil {
		s.tree.Drop(slot)
		return
	}
	s.tree.Set(slot)
}

func (s *sampling) Learn(int, int64, float64) {}

// Regroup does nothing: Pick passes over nodes of closed groups.
func (s *sampling) Regroup(int) {}

// Bytes is the size of the tree.
func (s *sampling) Bytes() int { return s.tree.Bytes() }

// Value is the probability of being drawn by one draw; for a hidden node, the
// probability if it alone were shown.
func (s *sampling) Value(slot int, _ int64) float64 {
	w, total := math.Sqrt(s.table.worth(slot)), s.tree.Total()
	if s.table.Hidden(slot) {
		total += w
	}
	if !(total > 0) {
		return 0
	}
	return w / total
}

func (s *sampling) Pick(dst []int, _ int64, count int, draws Source) []int {
	first := len(dst)
	var seen chosen
	rooms := s.table.Begin()
	for tries := count + exploreTries; count > 0 && tries > 0; tries-- {
		slot := s.tree.Find(draws.Float64())
		if slot < 0 {
			break
		}
		switch group := s.table.GroupOf(slot); {
		case rooms.left(group) == 0 && !seen.has(dst[first:], slot):
			continue // another is drawn in its place
		case !seen.has(dst[first:], slot):
			rooms.Take(group)
			dst = append(dst, slot)
		}
		count--
	}
	return dst
}

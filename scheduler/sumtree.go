package scheduler

// sumTree draws a leaf with probability proportional to its weight.
//
// It is a full binary tree in an array: node 1 is the root, the children of i
// are 2i and 2i+1, the leaves are the second half. A parent is always the sum
// of its two children as float64 gives it, so the tree is a function of its
// leaves alone and does not remember how they came about.
//
// Cost: Set and Find O(log n), 16 bytes a leaf.
type sumTree struct {
	sums []float64
	half int // number of leaves, a power of two
}

// Resize empties the tree and makes room for n leaves.
func (s *sumTree) Resize(n int) {
	s.half = 1
	for s.half < n {
		s.half *= 2
	}
	if cap(s.sums) < 2*s.half {
		s.sums = make([]float64, 2*s.half)
		return
	}
	s.sums = s.sums[:2*s.half]
	clear(s.sums)
}

// Fill sets a leaf without its parents; Sum must be called after the last.
func (s *sumTree) Fill(leaf int, weight float64) { s.sums[s.half+leaf] = weight }

// Sum computes all parents.
func (s *sumTree) Sum() {
	for i := s.half - 1; i > 0; i-- {
		s.sums[i] = s.sums[2*i] + s.sums[2*i+1]
	}
}

// Set changes one leaf and its parents.
func (s *sumTree) Set(leaf int, weight float64) {
	i := s.half + leaf
	s.sums[i] = weight
	for i /= 2; i > 0; i /= 2 {
		s.sums[i] = s.sums[2*i] + s.sums[2*i+1]
	}
}

func (s *sumTree) Weight(leaf int) float64 { return s.sums[s.half+leaf] }

func (s *sumTree) Total() float64 { return s.sums[1] }

// Find is the leaf in which u times the total falls, for u in [0, 1), counting
// from leaf 0; -1 if every leaf is zero. Rounding never leads to a leaf of
// weight zero.
func (s *sumTree) Find(u float64) int {
	if !(s.Total() > 0) {
		return -1
	}
	x := float64(u * s.Total()) // the conversion keeps it out of a fused subtraction
	i := 1
	for i < s.half {
		left, right := s.sums[2*i], s.sums[2*i+1]
		if right > 0 && x >= left {
			x -= left
			i = 2*i + 1
		} else {
			i = 2 * i
		}
	}
	return i - s.half
}

package scheduler

import "unsafe"

// sumTree draws a leaf with probability proportional to its weight.
//
// It is a binary tree over the leaves in their order, whose parents are always
// the sum of their two children as float64 gives it, so the tree is a function
// of its leaves alone and does not remember how they came about. The weights
// themselves are not stored: weight gives them.
//
// Nodes are in blocks of 64 leaves, blocks of 64 blocks above them, and so on,
// as in a [tournament]: in a block sum 1 is the root, the children of i are 2i
// and 2i+1, and from 64 on these are leaves or roots of blocks below. A block
// whose leaves are all zero need not be there. Growing adds blocks, or a level
// with one block, and moves nothing.
//
// Cost: Set and Find O(log n), 8 bytes a leaf.
type sumTree struct {
	weight func(leaf int) float64
	levels [][]*sums
	blocks int
}

type sums [fan]float64

// Bytes is the size of the blocks and of what leads to them.
func (s *sumTree) Bytes() int {
	n := s.blocks * int(unsafe.Sizeof(sums{}))
	for _, level := range s.levels {
		n += 8 * cap(level)
	}
	return n
}

// child is the sum of child k of a block.
func (s *sumTree) child(b *sums, level, id, k int) float64 {
	if k < fan {
		return b[k]
	}
	at := id*fan + k - fan
	if level == 0 {
		return s.weight(at)
	}
	if below := s.levels[level-1]; at < len(below) && below[at] != nil {
		return below[at][1]
	}
	return 0
}

// Build makes the tree of the blocks of leaves for which has is true, of n
// blocks. The others must weigh nothing.
func (s *sumTree) Build(n int, has func(block int) bool) {
	s.levels, s.blocks = s.levels[:0], 0
	level := make([]*sums, n)
	for id := range level {
		if has(id) {
			level[id] = new(sums)
		}
	}
	for len(level) > 0 {
		s.levels = append(s.levels, level)
		above := make([]*sums, (len(level)+fan-1)/fan)
		for id, b := range level {
			if b != nil {
				s.blocks++
				s.sum(len(s.levels)-1, id)
				above[id/fan] = new(sums)
			}
		}
		if len(level) == 1 {
			return
		}
		level = above
	}
}

// sum computes a block from what is below it.
func (s *sumTree) sum(level, id int) {
	b := s.levels[level][id]
	for i := fan - 1; i > 0; i-- {
		b[i] = s.child(b, level, id, 2*i) + s.child(b, level, id, 2*i+1)
	}
}

// Set takes note that the weight of a leaf changed.
func (s *sumTree) Set(leaf int) {
	s.grow(leaf)
	s.climb(leaf, 0)
}

// Drop takes note that no leaf of the block of a leaf weighs anything, and frees
// the block.
func (s *sumTree) Drop(leaf int) {
	block := leaf / fan
	if len(s.levels) == 0 || block >= len(s.levels[0]) || s.levels[0][block] == nil {
		return
	}
	if len(s.levels) == 1 {
		*s.levels[0][block] = sums{}
		return
	}
	s.levels[0][block] = nil
	s.blocks--
	s.climb(block, 1)
}

// climb computes the sums above an entrant of the blocks of a level.
func (s *sumTree) climb(entrant, level int) {
	for ; level < len(s.levels); level++ {
		id := entrant / fan
		b := s.levels[level][id]
		for i := (fan + entrant%fan) / 2; i > 0; i /= 2 {
			b[i] = s.child(b, level, id, 2*i) + s.child(b, level, id, 2*i+1)
		}
		entrant = id
	}
}

// grow makes the blocks on the way from a leaf to the root.
func (s *sumTree) grow(leaf int) {
	for level, id := 0, leaf/fan; ; level, id = level+1, id/fan {
		if level == len(s.levels) {
			if level > 0 && len(s.levels[level-1]) == 1 {
				return
			}
			s.levels = append(s.levels, make([]*sums, 1))
			if level > 0 && s.levels[level-1][0] != nil {
				s.add(level, 0)
			}
		}
		for len(s.levels[level]) <= id {
			s.levels[level] = append(s.levels[level], nil)
		}
		if s.levels[level][id] == nil {
			s.add(level, id)
		}
	}
}

func (s *sumTree) add(level, id int) {
	s.levels[level][id] = new(sums)
	s.blocks++
	s.sum(level, id)
}

// Total is the sum of all weights.
func (s *sumTree) Total() float64 {
	if len(s.levels) == 0 {
		return 0
	}
	if root := s.levels[len(s.levels)-1][0]; root != nil {
		return root[1]
	}
	return 0
}

// Find is the leaf in which u times the total falls, for u in [0, 1), counting
// from leaf 0; -1 if every leaf is zero. Rounding never leads to a leaf of
// weight zero.
func (s *sumTree) Find(u float64) int {
	total := s.Total()
	if !(total > 0) {
		return -1
	}
	x := float64(u * total) // the conversion keeps it out of a fused subtraction
	id := 0
	for level := len(s.levels) - 1; level >= 0; level-- {
		b, i := s.levels[level][id], 1
		for i < fan {
			left, right := s.child(b, level, id, 2*i), s.child(b, level, id, 2*i+1)
			i *= 2
			if right > 0 && x >= left {
				x -= left
				i++
			}
		}
		id = id*fan + i - fan
	}
	return id
}

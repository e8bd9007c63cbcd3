package text

// lcsCell is what Redis allocates for one cell of the table. The limit counts
// such cells, so that the same strings are refused.
const lcsCell = 4

// LCSMatch is a run of bytes that both strings share in their longest common
// subsequence: a[AStart..AEnd] and b[BStart..BEnd], ends included.
type LCSMatch struct {
	AStart, AEnd int
	BStart, BEnd int
}

// Len is the length of the run.
func (m LCSMatch) Len() int { return m.AEnd - m.AStart + 1 }

// LCSFits reports whether the table of an LCS has no more than limit bytes:
// (len(a)+1)*(len(b)+1) cells of 4 bytes, although it is not kept as a whole.
func LCSFits(a, b []byte, limit int64) bool {
	// Lengths stay below 2^32, so that the product does not overflow.
	cells := (uint64(len(a)) + 1) * (uint64(len(b)) + 1)
	return cells <= uint64(limit)/lcsCell
}

// LCSLen returns the length of the longest common subsequence of a and b.
func LCSLen(a, b []byte) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	return lcsRows(a, b, nil)
}

// LCS returns the longest common subsequence of a and b that Redis returns, and
// its runs, from the last to the first. Runs shorter than minMatch are left
// out.
//
// The table of lengths is needed on the way back only to decide, at two bytes
// that differ, which of two neighbours is larger. So two rows of lengths are
// kept, and one bit for each cell: a 32nd of the memory of the full table.
func LCS(a, b []byte, minMatch int) (common []byte, matches []LCSMatch) {
	up := make([]uint64, (len(a)*len(b)+63)/64)
	n := lcsRows(a, b, up)
	common = make([]byte, n)

	var run LCSMatch
	open := false
	emit := func() {
		if open && run.Len() >= minMatch {
			matches = append(matches, run)
		}
		open = false
	}
	for i, j := len(a), len(b); i > 0 && j > 0; {
		if a[i-1] == b[j-1] {
			i, j, n = i-1, j-1, n-1
			common[n] = a[i]
			if !open {
				open, run = true, LCSMatch{AStart: i, AEnd: i, BStart: j, BEnd: j}
			}
			run.AStart, run.BStart = i, j
			continue
		}
		emit()
		if cell := (i-1)*len(b) + j - 1; up[cell>>6]>>(cell&63)&1 != 0 {
			i--
		} else {
			j--
		}
	}
	emit()
	return common, matches
}

// lcsRows fills the table row by row and returns its last cell. If up is not
// nil, its bit i*len(b)+j says that the cell above is larger than the cell to
// the left of cell (i+1, j+1).
func lcsRows(a, b []byte, up []uint64) int {
	row := make([]uint32, len(b)+1)
	for i, x := range a {
		diagonal, left := uint32(0), uint32(0)
		for j, y := range b {
			above := row[j+1]
			switch {
			case x == y:
				left = diagonal + 1
			case above > left:
				left = above
				if up != nil {
					cell := i*len(b) + j
					up[cell>>6] |= 1 << (cell & 63)
				}
			}
			row[j+1] = left
			diagonal = above
		}
	}
	return int(row[len(b)])
}

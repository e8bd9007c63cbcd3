package scheduler

import (
	"math/bits"
	"slices"
	"unsafe"
)

// A page stores its nodes in rows of equal width, one float64 a column, and has
// only the columns in which some node of it differs from the default:
//
//	mask    1 0 0 1 ...          which columns the rows have
//	row 0   rate  last ... memo  the node in the first slot
//	row 1   rate  last ... memo
//	...
//
// A node of a schedule that uses eight columns takes 64 bytes, wherever its page
// is, and lies in one or two cache lines. A node that brings a new column widens
// its page, which happens at most once a column. Whole numbers up to 2^53 are
// exact in a float64. The memo of the policy, if any node has one, is behind the
// columns and of the same length in all rows.
type page struct {
	used   uint64 // bit i: slot i of the page holds a node
	hidden uint64
	learnt uint64 // bit i: the node has a memo
	mask   uint32
	width  int32     // of a row: columns and memo
	cells  []float64 // rows, as many as the highest slot used so far needs
}

const pageBytes = int(unsafe.Sizeof(page{}))

// The columns, in the order of a row.
const (
	colLast = iota
	colEstimate
	colRate
	colWeight
	colDecay
	colArrival
	colCost
	colMaxAge
	colBorn
	colProbes
	colItems
	colCount
	colExposure
	colUp
	colDown
	colPrecision
	colRecall
	colNats
	colSignals
	colHeard
	colListened
	colSilent
	colSure
	colTrust
	colHanded
	colGroup
	colDeadline
	colPriced
	columns
)

// signalled are the columns without which a page has no signals that are heeded.
const signalled = 1<<colPrecision | 1<<colTrust

// columnDefault is what a column holds that a page does not store.
var columnDefault = [columns]float64{colRate: Unknown, colWeight: 1, colArrival: Unknown, colCost: 1,
	colPrecision: Unknown, colRecall: Unknown}

func (n *Node) columns() [columns]float64 {
	return [columns]float64{
		colLast: float64(n.Last), colEstimate: n.Estimate, colRate: n.Rate, colWeight: n.Weight, colDecay: n.Decay,
		colArrival: n.Arrival, colCost: n.Cost, colMaxAge: float64(n.MaxAge), colBorn: float64(n.Born),
		colProbes: float64(n.Probes), colItems: n.Items, colCount: n.Count, colExposure: n.Exposure,
		colUp: n.Up, colDown: n.Down, colPrecision: n.Precision, colRecall: n.Recall,
		colNats: n.Nats, colSignals: n.Signals.Count, colHeard: n.Heard, colListened: n.Listened,
		colSilent: n.Silent, colSure: n.Sure, colTrust: n.Trust, colHanded: float64(n.Handed),
		colGroup: float64(n.Group), colDeadline: float64(n.Deadline), colPriced: n.Priced,
	}
}

// signals are those of a slot.
func (p *page) signals(i int) Signals {
	return Signals{Nats: p.get(i, colNats), Count: p.get(i, colSignals), Heard: p.get(i, colHeard), Listened: p.get(i, colListened),
		Silent: p.get(i, colSilent), Sure: p.get(i, colSure), Trust: p.get(i, colTrust)}
}

// group is the number of the group of a slot.
func (p *page) group(i int) int32 {
	if p.mask&(1<<colGroup) == 0 {
		return 0
	}
	return int32(p.get(i, colGroup))
}

// alone says whether a node of the page is in no group.
func (p *page) alone() bool {
	if p.mask&(1<<colGroup) == 0 {
		return p.used != 0
	}
	for used := p.used; used != 0; used &= used - 1 {
		if p.group(bits.TrailingZeros64(used)) == 0 {
			return true
		}
	}
	return false
}

// row is the row of a slot.
func (p *page) row(i int) []float64 {
	w := int(p.width)
	return p.cells[i*w : i*w+w : i*w+w]
}

// get is one column of a slot.
func (p *page) get(i, column int) float64 {
	bit := uint32(1) << column
	if p.mask&bit == 0 {
		return columnDefault[column]
	}
	return p.cells[i*int(p.width)+bits.OnesCount32(p.mask&(bit-1))]
}

func (p *page) load(i int, n *Node) {
	v, row := columnDefault, p.row(i)
	for k, mask := 0, p.mask; mask != 0; mask &= mask - 1 {
		v[bits.TrailingZeros32(mask)%columns] = row[k]
		k++
	}
	n.Params = Params{Rate: v[colRate], Weight: v[colWeight], Decay: v[colDecay], Arrival: v[colArrival],
		Cost: v[colCost], MaxAge: int64(v[colMaxAge]), Precision: v[colPrecision], Recall: v[colRecall],
		Group: int32(v[colGroup]), Deadline: int64(v[colDeadline]), Priced: v[colPriced]}
	n.Born, n.Last, n.Probes = int64(v[colBorn]), int64(v[colLast]), int64(v[colProbes])
	n.Items, n.Estimate, n.Count, n.Exposure = v[colItems], v[colEstimate], v[colCount], v[colExposure]
	n.Up, n.Down, n.Memo = v[colUp], v[colDown], p.memo(i)
	n.Handed = int64(v[colHanded])
	n.Signals = Signals{Nats: v[colNats], Count: v[colSignals], Heard: v[colHeard], Listened: v[colListened],
		Silent: v[colSilent], Sure: v[colSure], Trust: v[colTrust]}
}

// store writes a node into a slot and returns how many bytes the page grew.
func (p *page) store(i int, n *Node) (grown int) {
	v, mask := n.columns(), p.mask
	for c := range v {
		if v[c] != columnDefault[c] {
			mask |= 1 << c
		}
	}
	before := 8 * cap(p.cells)
	// A memo that is the page's own would not survive the change of shape.
	memo := n.Memo
	p.shape(i, mask, max(len(memo), p.memoWidth()))
	row := p.row(i)
	for k, m := 0, mask; m != 0; m &= m - 1 {
		row[k] = v[bits.TrailingZeros32(m)]
		k++
	}
	p.learnt &^= 1 << i
	if len(memo) > 0 {
		p.learnt |= 1 << i
		copy(p.memo(i), memo)
	}
	return 8*cap(p.cells) - before
}

func (p *page) memoWidth() int { return int(p.width) - bits.OnesCount32(p.mask) }

func (p *page) memo(i int) []float64 {
	if p.learnt>>i&1 == 0 {
		return nil
	}
	return p.row(i)[bits.OnesCount32(p.mask):]
}

// setMemo gives a slot a memo of n zeros and returns how many bytes the page
// grew.
func (p *page) setMemo(i, n int) (grown int) {
	before := 8 * cap(p.cells)
	p.shape(i, p.mask, max(n, p.memoWidth()))
	p.learnt |= 1 << i
	clear(p.memo(i))
	return 8*cap(p.cells) - before
}

// shape gives the page rows up to slot i with the columns of mask, some of which it
// may have, and a memo of the given width. Pages grow by doubling up to
// PageSize rows, so that a schedule of three nodes is small.
func (p *page) shape(i int, mask uint32, memo int) {
	width := bits.OnesCount32(mask) + memo
	rows := 4
	for rows <= i {
		rows *= 2
	}
	if p.width > 0 {
		rows = max(rows, len(p.cells)/int(p.width))
	}
	if mask == p.mask && width == int(p.width) && len(p.cells) >= rows*width {
		return
	}
	p.reshape(mask, width, rows)
}

// reshape gives the page so many rows of a width: columns, and a memo of what is left,
// which may be narrower than before.
func (p *page) reshape(mask uint32, width, rows int) {
	old := *p
	// Grow tells the allocator's rounding, 14 % at seven columns, in the capacity.
	p.mask, p.width, p.cells = mask, int32(width), slices.Grow([]float64(nil), rows*width)[:rows*width]
	for j := range PageSize {
		if old.used>>j&1 == 0 || old.width == 0 || (j+1)*int(old.width) > len(old.cells) {
			continue
		}
		from, to := old.row(j), p.row(j)
		for k, m := 0, mask; m != 0; m &= m - 1 {
			if c := bits.TrailingZeros32(m); old.mask>>c&1 != 0 {
				to[k], from = from[0], from[1:]
			} else {
				to[k] = columnDefault[c]
			}
			k++
		}
		copy(to[bits.OnesCount32(mask):], from)
	}
}

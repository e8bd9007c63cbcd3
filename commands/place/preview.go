package place

import (
	"context"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/placement"
)

// A preview is worked out off the locks if the table is large, or if it may
// have many pairs. It cannot be stopped half-way, so what it may take is
// bounded: about a second.
const (
	quickPairs    = 1 << 14
	quickPreview  = 256 << 10 // bytes of a table that is copied and compared in a millisecond
	maxPairs      = 1 << 20
	maxPairsMulti = 1 << 16
)

// mapChange is what PLACE.PREVIEW is asked about.
type mapChange struct {
	set    []placement.Unit
	remove []string
}

func readMapChange(a *commands.Args) (ch mapChange) {
	switch a.Word() {
	case "SET":
		ch.set = readUnits(a)
	case "DEL":
		ch.remove = readUnitNames(a)
	default:
		a.Syntax()
	}
	return ch
}

func (ch *mapChange) preview(m *placement.Map) (placement.Preview, error) {
	if ch.remove != nil {
		p, err := m.PreviewRemove(ch.remove...)
		return p, wireError(err)
	}
	p, err := m.PreviewSet(ch.set...)
	return p, wireError(err)
}

func preview(c *commands.Ctx) error {
	key, change := c.Args.Key(), readMapChange(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	v, err := view(c, key)
	if err != nil {
		return err
	}
	s := v.State()
	pairs := s.Pairs(len(change.set) + len(change.remove))
	switch {
	case pairs <= quickPairs && s.Map.Bytes() <= quickPreview:
		p, err := change.preview(s.Map)
		if err == nil {
			replyPreview(&c.Reply, &p)
		}
		return err
	case pairs > maxPairs:
		return errPairs
	case c.InMulti && pairs > maxPairsMulti:
		return errPairsMulti
	case c.InMulti && s.Map.Bytes() > maxTableMulti:
		return errTableMulti
	}
	if err := c.MayCompute(s.Map.Bytes()); err != nil {
		return err
	}
	s = v.Lend()
	return c.Compute(func(context.Context) (func(*commands.Reply), error) {
		p, err := change.preview(s.Map)
		return func(r *commands.Reply) { replyPreview(r, &p) }, err
	})
}

func replyPreview(r *commands.Reply, p *placement.Preview) {
	r.Map(4)
	r.BulkString("moved")
	r.Double(p.Moved)
	r.BulkString("optimum")
	r.Double(p.Optimum)
	r.BulkString("ratio")
	r.Double(movesRatio(p))
	r.BulkString("pairs")
	r.Array(len(p.Pairs))
	for i := range p.Pairs {
		pair := &p.Pairs[i]
		r.Array(3)
		r.BulkString(pair.From)
		r.BulkString(pair.To)
		r.Double(pair.Share)
	}
}

// movesRatio is how much more moves than has to: 1 if nothing has to and
// nothing does.
func movesRatio(p *placement.Preview) float64 {
	switch {
	case p.Moved == p.Optimum:
		return 1
	case p.Optimum == 0:
		return math.Inf(1)
	}
	return p.Moved / p.Optimum
}

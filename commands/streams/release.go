package streams

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/stream"
)

func releaseRows() []commands.Command {
	return []commands.Command{
		{Name: "XNACK", Arity: -7, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key group <SILENT | FAIL | FATAL> IDS numids id [id ...] [RETRYCOUNT count] [FORCE]", Since: "8.8.0",
			Cost:    "O(log n) for each ID and n pending entries",
			Summary: "Releases pending entries: they have no consumer, and are the next to be claimed.", Run: xnack},
	}
}

// release is the arguments of XNACK.
type release struct {
	key, group []byte
	mode       string
	ids        []stream.ID
	retry      int64 // deliveries to be noted; negative: not given
	force      bool
}

func readRelease(a *commands.Args) (x release) {
	x.key, x.group, x.retry = a.Key(), a.Bytes(), -1
	switch mode := a.Word(); mode {
	case "SILENT", "FAIL", "FATAL":
		x.mode = mode
	default:
		a.Fail(errReleaseMode)
	}
	if a.Err() == nil && !a.Is("IDS") {
		a.Fail(errReleaseIDs)
	}
	n := a.IntIn(1, math.MaxInt64, errReleaseCount)
	if a.Err() == nil && n > int64(a.Left()) {
		a.Fail(errReleaseMatch)
	}
	for ; n > 0 && a.Err() == nil; n-- {
		x.ids = append(x.ids, readID(a))
	}
	for a.More() {
		switch {
		case a.Left() >= 2 && a.Is("RETRYCOUNT"):
			x.retry = a.IntIn(0, math.MaxInt64, errReleaseRetry)
		case a.Is("FORCE"):
			x.force = true
		default:
			a.Fail(errReleaseOption(a.Peek()))
		}
	}
	return x
}

// deliveries returns how often the entry counts as delivered.
func (x *release) deliveries(n int64) int64 {
	switch {
	case x.retry >= 0:
		return x.retry
	case x.mode == "FATAL":
		return stream.Endless
	case x.mode == "SILENT" && n != stream.Endless:
		return max(n-1, 0)
	}
	return n
}

func xnack(c *commands.Ctx) error {
	x := readRelease(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := editRead(c, x.key)
	if err != nil {
		return err
	}
	var g *stream.Group
	if ok {
		g = s.Group(x.group)
	}
	if g == nil {
		return errNoGroup(x.key, x.group)
	}
	if x.force && !s.Ready(x.ids...) {
		return c.Tx.Err()
	}
	if err := stream.MayRelease(ch); err != nil {
		return err
	}
	var released []stream.Pending
	for _, id := range x.ids {
		p, pending := g.Find(id)
		if !pending && !(x.force && s.Has(id)) {
			continue
		}
		released = append(released, stream.Pending{ID: id, Deliveries: x.deliveries(p.Deliveries)})
	}
	g.Release(ch, released)
	c.Reply.Int(int64(len(released)))
	return nil
}

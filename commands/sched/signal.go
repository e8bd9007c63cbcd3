package sched

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/schedule"
)

func signalRows(change []commands.KeySpec) []commands.Command {
	return []commands.Command{
		{Name: "SCHED.SIGNAL", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: change,
			Syntax: "key node [PRECISION share] [AGO milliseconds] [node ...]", Since: "0.2.0", Cost: "O(log n) for each node",
			Summary: "Says that nodes may have changed, and returns how many of them there are. Others are skipped.", Run: signal},
	}
}

// signalNames are the options of SCHED.SIGNAL. The first argument after the key is a
// node whatever it looks like.
func signalNames() commands.Names {
	return commands.Names{Options: []string{"PRECISION", "AGO"}, Others: []string{"RECALL", "RATE", "WEIGHT", "COUNT"}, Bare: true}
}

// hint is a node of SCHED.SIGNAL.
type hint struct {
	node      []byte
	precision float64
	ago       int64
}

func readHint(a *commands.Args, names *commands.Names) hint {
	h := hint{node: a.Bytes(), precision: scheduler.Unknown}
	var once commands.Once
	for names.Option(a.Peek()) {
		switch once.Word(a) {
		case "PRECISION":
			h.precision = readShare(a)
		case "AGO":
			h.ago = a.IntIn(0, schedule.MaxMillis, errMillis)
		}
	}
	return h
}

func signal(c *commands.Ctx) error {
	key, names := c.Args.Key(), signalNames()
	names.First(c.Args.Peek())
	var hints []hint
	for first := true; c.Args.More(); first = false {
		if !first {
			names.Refuse(&c.Args)
		}
		hints = append(hints, readHint(&c.Args, &names))
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	known := 0
	for _, h := range hints {
		ok, err := s.Signal(ch, h.node, h.precision, h.ago, c.Now)
		if err != nil {
			return wireError(err)
		}
		if ok {
			known++
		}
	}
	if known > 0 {
		c.Notify(commands.EventModule, "sched.signal", key)
	}
	c.Reply.Int(int64(known))
	return nil
}

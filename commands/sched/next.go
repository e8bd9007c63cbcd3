package sched

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/schedule"
)

// pickOptions are the options of SCHED.NEXT and SCHED.PEEK.
type pickOptions struct {
	count int   // 0: as the schedule says
	lease int64 // -1: as the schedule says
	stats schedule.Stats
}

// nextOrPeek selects the command whose options are read.
type nextOrPeek uint8

const (
	forNext nextOrPeek = iota
	forPeek
)

func readPickOptions(a *commands.Args, f nextOrPeek) pickOptions {
	o, once := pickOptions{lease: -1}, commands.Once{}
	for a.More() {
		switch word := once.Word(a); {
		case word == "COUNT":
			o.count = int(a.IntIn(1, schedule.MaxCount, errCount))
		case word == "LEASE" && f == forNext:
			o.lease = a.IntIn(0, schedule.MaxMillis, errMillis)
		case word == "WITHSTATS":
			o.stats = schedule.WithStats
		default:
			a.Syntax()
		}
	}
	return o
}

func next(c *commands.Ctx) error {
	key, o := c.Args.Key(), readPickOptions(&c.Args, forNext)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	picks, err := s.Next(ch, o.count, c.Now, o.lease, o.stats)
	if err != nil {
		return wireError(err)
	}
	c.Notify(commands.EventModule, "sched.next", key)
	replyPicks(c, picks, o.stats)
	return nil
}

func peek(c *commands.Ctx) error {
	key, o := c.Args.Key(), readPickOptions(&c.Args, forPeek)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	picks, err := s.Peek(o.count, c.Now, o.stats)
	if err != nil {
		return wireError(err)
	}
	replyPicks(c, picks, o.stats)
	return nil
}

// replyPicks writes the names of nodes, or with stats [name, age, index] of
// each.
func replyPicks(c *commands.Ctx, picks []schedule.Pick, stats schedule.Stats) {
	c.Reply.Array(len(picks))
	for _, p := range picks {
		if stats == schedule.NamesOnly {
			c.Reply.BulkString(p.Node)
			continue
		}
		c.Reply.Array(3)
		c.Reply.BulkString(p.Node)
		c.Reply.Int(p.Age)
		c.Reply.Double(p.Index)
	}
}

func info(c *commands.Ctx) error {
	key := c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	replyFields(c, s.Info(c.Now))
	return nil
}

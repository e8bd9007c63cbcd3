package sched

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/schedule"
)

func alterRows(change []commands.KeySpec) []commands.Command {
	return []commands.Command{
		{Name: "SCHED.ALTER", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: change,
			Syntax: "key [POLICY policy] [PROBES probes] [LEASE milliseconds] [EXPLORE fraction] [QUIET milliseconds] [BUDGET cost] [PRICE price]", Since: "0.2.0",
			Cost:    "O(1), and O(n) if POLICY or PROBES changes",
			Summary: "Changes the policy or numbers of a schedule, and keeps its nodes and what was learnt.", Run: alter},
	}
}

// alteration is what a SCHED.ALTER changes; -1 stays as it is.
type alteration struct {
	probes, lease, quiet int64
	explore              float64
	budget, price        float64
	policy               string // "": stays
}

func readAlteration(a *commands.Args) alteration {
	o := alteration{-1, -1, -1, -1, -1, -1, ""}
	var once commands.Once
	for a.More() {
		switch once.Word(a) {
		case "POLICY":
			name := a.String()
			spec, err := scheduler.PolicyNamed(name)
			if err != nil {
				a.Fail(errPolicy(name))
			}
			o.policy = spec.Name
		case "BUDGET":
			o.budget = readBudget(a)
		case "PRICE":
			o.price = readPrice(a)
		case "PROBES":
			o.probes = a.IntIn(1, schedule.MaxCount, errCount)
		case "LEASE":
			o.lease = a.IntIn(0, schedule.MaxMillis, errMillis)
		case "EXPLORE":
			if o.explore = a.Float(); !(o.explore >= 0 && o.explore <= 1) {
				a.Fail(errExplore)
			}
		case "QUIET":
			o.quiet = a.IntIn(0, schedule.MaxMillis, errMillis)
		default:
			a.Syntax()
		}
	}
	return o
}

func alter(c *commands.Ctx) error {
	key, o := c.Args.Key(), readAlteration(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	cfg := s.Config()
	for _, f := range []struct {
		to    *int64
		value int64
	}{{&cfg.LeaseMillis, o.lease}, {&cfg.QuietMillis, o.quiet}} {
		if f.value >= 0 {
			*f.to = f.value
		}
	}
	if o.probes > 0 {
		cfg.Probes = int(o.probes)
	}
	if o.explore >= 0 {
		cfg.Explore = o.explore
	}
	if err := o.apply(s, ch, cfg); err != nil {
		return wireError(err)
	}
	c.Notify(commands.EventModule, "sched.alter", key)
	c.Reply.OK()
	return nil
}

// apply makes the changes, in an order in which each is possible if all are together.
func (o *alteration) apply(s *schedule.Schedule, ch *structures.Change, cfg schedule.Config) error {
	budget := func() error {
		if o.budget < 0 {
			return nil
		}
		return s.AlterBudget(ch, o.budget)
	}
	if o.policy != "" {
		after := cfg.Budget
		if o.budget >= 0 {
			after = o.budget
		}
		if err := s.CheckPolicy(ch, o.policy, after); err != nil {
			return err
		}
	} else if err := s.CheckBudget(ch, o.budget); err != nil {
		return err
	}
	if o.price >= 0 {
		if err := s.AlterPrice(ch, o.price); err != nil {
			return err
		}
	}
	if o.budget == 0 {
		if err := budget(); err != nil {
			return err
		}
	}
	if o.policy != "" {
		if err := s.AlterPolicy(ch, o.policy); err != nil {
			return err
		}
	}
	if o.budget > 0 {
		if err := budget(); err != nil {
			return err
		}
	}
	if o.probes < 0 && o.lease < 0 && o.explore < 0 && o.quiet < 0 {
		return nil
	}
	return s.Alter(ch, cfg)
}

package cluster

import "github.com/vigildb/vigil/commands"

// failover asks the leader to hand over to this member. Without a leader there is nobody to ask,
// and the members elect one by themselves: FORCE and TAKEOVER, by which others are not asked,
// cannot hasten that.
func failover(c *commands.Ctx) error {
	if len(c.Args.All()) > 3 {
		return commands.ErrSubcommandArity(c)
	}
	forced := false
	if c.Args.More() {
		if forced = c.Args.Is("FORCE") || c.Args.Is("TAKEOVER"); !forced {
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	m := c.Membership()
	switch {
	case m == nil:
		return errNotKnown
	case m.Leader == m.Self && m.Led:
		return errIsMaster
	case !m.Led && !forced:
		return errMasterIsDown
	}
	c.Host.(Node).TakeOver()
	return ok(c)
}

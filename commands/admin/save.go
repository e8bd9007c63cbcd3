package admin

import "github.com/vigildb/vigil/commands"

// Saves makes snapshots, stores changed keys, and stops the server.
type Saves interface {
	// Save writes a snapshot; in the background it returns at once.
	Save(background bool) error
	// Saving reports whether a snapshot is made in the background.
	Saving() bool
	LastSave() int64 // unix seconds
	// Rewrite stores all keys under their own names in the background, so that
	// the journal that they replace can be removed. It returns an error while another
	// one does.
	Rewrite() error
	// Shutdown stops the server; it returns an error if it cannot.
	Shutdown(c *commands.Ctx, o ShutdownOptions) error
}

func saveRows() []commands.Command {
	return []commands.Command{
		{Name: "SAVE", Arity: 1, Flags: commands.Admin | commands.NoScript | commands.NoMulti | commands.NoAsyncLoading, Since: "1.0.0",
			Cost:    "O(f) for f files of the store",
			Summary: "Writes a snapshot: a checkpoint of the store, made of hard links.", Run: save},
		{Name: "BGSAVE", Arity: -1, Flags: commands.Admin | commands.NoScript | commands.NoAsyncLoading, Syntax: "[SCHEDULE | CANCEL]",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Writes a snapshot in the background.", Run: bgsave},
		{Name: "LASTSAVE", Arity: 1, Tips: "nondeterministic_output", Flags: commands.Loading | commands.Stale | commands.Fast | commands.Dangerous, Category: "admin",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the Unix time of the last snapshot.", Run: lastSave},
		{Name: "BGREWRITEAOF", Arity: 1, Flags: commands.Admin | commands.NoScript | commands.NoAsyncLoading, Since: "1.0.0", Cost: "O(1)",
			Summary: "Stores all changed keys in the background, so that the journal can be shortened.", Run: bgRewrite},
		{Name: "SHUTDOWN", Arity: -1, Flags: adminFlags | commands.NoMulti | commands.AllowBusy,
			Syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [SAFE] [FAILOVER] [ABORT]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Stops the server. Acknowledged writes are kept with or without SAVE.", Run: shutdown},
	}
}

func save(c *commands.Ctx) error {
	if err := c.Host.(Saves).Save(false); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func bgsave(c *commands.Ctx) error {
	cancel := false
	if !c.Args.Is("SCHEDULE") {
		cancel = c.Args.Is("CANCEL")
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if cancel {
		if c.Host.(Saves).Saving() {
			return errLateCancel
		}
		return errNoSaving
	}
	if err := c.Host.(Saves).Save(true); err != nil {
		return err
	}
	c.Reply.Status("Background saving started")
	return nil
}

func lastSave(c *commands.Ctx) error {
	c.Reply.Int(c.Host.(Saves).LastSave())
	return nil
}

func bgRewrite(c *commands.Ctx) error {
	if err := c.Host.(Saves).Rewrite(); err != nil {
		return err
	}
	c.Reply.Status("Background append only file rewriting started")
	return nil
}

// ShutdownOptions are the arguments of SHUTDOWN. Save asks for a snapshot first, which Force
// does without if it fails. Safe refuses if nobody could take over the keys, unless Force is set.
type ShutdownOptions struct{ Save, NoSave, Force, Safe bool }

// shutdown writes a reply only if the server keeps running.
func shutdown(c *commands.Ctx) error {
	var save, nosave, force, now, safe, failover, abort bool
	for c.Args.More() {
		switch c.Args.Word() {
		case "SAVE":
			save = true
		case "NOSAVE":
			nosave = true
		case "NOW":
			now = true
		case "FORCE":
			force = true
		case "SAFE":
			safe = true
		case "FAILOVER":
			failover = true // which every shutdown is
		case "ABORT":
			abort = true
		default:
			return commands.ErrSyntax
		}
	}
	if save && nosave || abort && (save || nosave || now || force || safe || failover) {
		return commands.ErrSyntax
	}
	if abort {
		return errNoShutdown
	}
	return c.Host.(Saves).Shutdown(c, ShutdownOptions{Save: save, NoSave: nosave, Force: force, Safe: safe})
}

package commands

func saveRows() []Command {
	return []Command{
		{Name: "SAVE", Arity: 1, Flags: Admin | NoScript | NoMulti | NoAsyncLoading, Since: "1.0.0",
			Cost:    "O(f) for f files of the store",
			Summary: "Writes a snapshot: a checkpoint of the store, made of hard links.", Run: save},
		{Name: "BGSAVE", Arity: -1, Flags: Admin | NoScript | NoAsyncLoading, Syntax: "[SCHEDULE]",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Writes a snapshot in the background.", Run: bgsave},
		{Name: "LASTSAVE", Arity: 1, Flags: Loading | Stale | Fast | Dangerous, Category: "admin",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Answers the unix time of the last snapshot.", Run: lastSave},
		{Name: "BGREWRITEAOF", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading, Since: "1.0.0", Cost: "O(1)",
			Summary: "Stores all changed keys in the background, which shortens the journal.", Run: bgRewrite},
		{Name: "SHUTDOWN", Arity: -1, Flags: adminFlags | NoMulti | AllowBusy,
			Syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Stops the server; nothing acknowledged is lost, with SAVE or without.", Run: shutdown},
	}
}

func save(c *Ctx) error {
	if err := c.Host.Save(false); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func bgsave(c *Ctx) error {
	c.Args.Is("SCHEDULE")
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := c.Host.Save(true); err != nil {
		return err
	}
	c.Reply.Status("Background saving started")
	return nil
}

func lastSave(c *Ctx) error {
	c.Reply.Int(c.Host.LastSave())
	return nil
}

func bgRewrite(c *Ctx) error {
	c.Host.Rewrite()
	c.Reply.Status("Background append only file rewriting started")
	return nil
}

// shutdown answers only if the server goes on.
func shutdown(c *Ctx) error {
	var save, nosave, force, now, abort bool
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
		case "ABORT":
			abort = true
		default:
			return ErrSyntax
		}
	}
	if save && nosave || abort && (save || nosave || now || force) {
		return ErrSyntax
	}
	if abort {
		return ErrNoShutdown
	}
	return c.Host.Shutdown(c, save, force)
}

package admin

import "github.com/vigildb/vigil/commands"

// Backups makes copies of the store that leave the machine.
type Backups interface {
	// StartBackup asks for a backup, which is made in the background.
	StartBackup() error
	// Backups lists the complete ones that the target has told of, the oldest first. It does not ask the target.
	Backups() ([]Backup, error)
	BackupStatus() (BackupStatus, error)
}

// Backup is a complete backup.
type Backup struct {
	Name    string
	Made    int64 // unix seconds
	Through int64 // unix seconds: with the log behind it a restore can reach this time
	Bytes   int64 // that a restore fetches, without the log behind it
}

// BackupStatus says how backups go.
type BackupStatus struct {
	Target    string
	Encrypted bool
	Work      string // "backup", "log" or "" for nothing
	Done      int64  // bytes of the backup under way that were looked at
	Total     int64
	Last      int64 // unix seconds, when the last one was begun; 0: there is none
	Seconds   int64 // that it took, -1 if that is not known
	Bytes     int64 // of it
	Uploaded  int64 // bytes that were uploaded meanwhile: the target had the rest
	Through   int64 // unix seconds: what had reached the device by then can be restored; 0: nothing
	Failures  int64
	Error     string // why the last attempt failed, empty if it did not
}

func backupRows() []commands.Command {
	return []commands.Command{
		{Name: "VIGIL.BACKUP", Arity: -2, Since: "0.2.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about backups that leave the machine."},
		{Name: "VIGIL.BACKUP NOW", Arity: 2, Flags: commands.Admin | commands.NoScript | commands.NoMulti | commands.NoAsyncLoading, Since: "0.2.0",
			Cost:    "O(1); then O(n) in the background for n bytes of the store that the target lacks",
			Summary: "Begins a backup to where backup-target says, in the background.", Run: backupNow},
		{Name: "VIGIL.BACKUP STATUS", Arity: 2, Flags: commands.Admin | commands.NoScript | commands.Stale, Since: "0.2.0",
			Cost:    "O(1)",
			Summary: "Returns what is being uploaded, the last backup, to when a restore can go on, and the last error.", Run: backupStatus},
		{Name: "VIGIL.BACKUP LIST", Arity: 2, Flags: commands.Admin | commands.NoScript | commands.Stale, Since: "0.2.0",
			Cost:    "O(n) for n backups",
			Summary: "Lists the complete backups, oldest first: name, time, to when a restore can go on, and size.", Run: backupList},
		commands.Help("VIGIL.BACKUP", "0.2.0", commands.Admin|commands.NoScript|commands.Loading|commands.Stale),
	}
}

func backupNow(c *commands.Ctx) error {
	if err := c.Host.(Backups).StartBackup(); err != nil {
		return err
	}
	c.Reply.Status("Backup started")
	return nil
}

func backupStatus(c *commands.Ctx) error {
	s, err := c.Host.(Backups).BackupStatus()
	if err != nil {
		return err
	}
	c.Reply.Map(12)
	text := func(name, value string) {
		c.Reply.BulkString(name)
		c.Reply.BulkString(value)
	}
	number := func(name string, n int64) {
		c.Reply.BulkString(name)
		c.Reply.Int(n)
	}
	text("target", s.Target)
	c.Reply.BulkString("encrypted")
	c.Reply.Bool(s.Encrypted)
	text("work", s.Work)
	number("done-bytes", s.Done)
	number("total-bytes", s.Total)
	number("last-time", s.Last)
	number("last-seconds", s.Seconds)
	number("last-bytes", s.Bytes)
	number("last-uploaded-bytes", s.Uploaded)
	number("restorable-until", s.Through)
	number("failures", s.Failures)
	text("last-error", s.Error)
	return nil
}

func backupList(c *commands.Ctx) error {
	list, err := c.Host.(Backups).Backups()
	if err != nil {
		return err
	}
	c.Reply.Array(len(list))
	for _, b := range list {
		c.Reply.Map(4)
		c.Reply.BulkString("name")
		c.Reply.BulkString(b.Name)
		c.Reply.BulkString("time")
		c.Reply.Int(b.Made)
		c.Reply.BulkString("restorable-until")
		c.Reply.Int(b.Through)
		c.Reply.BulkString("bytes")
		c.Reply.Int(b.Bytes)
	}
	return nil
}

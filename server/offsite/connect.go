package offsite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// connect opens the target, and finds out what is there.
func (c *Archiver) connect() (err error) {
	ctx := c.ctx
	if err := os.RemoveAll(c.snapshotDir()); err != nil { // of a process that was killed
		return err
	}
	target, err := c.o.Open(c.o.Target)
	if err != nil {
		return err
	}
	var key []byte
	if c.o.KeyFile != "" {
		if key, err = ReadKey(c.o.KeyFile); err != nil {
			return err
		}
	}
	v, err := newVault(target, key, c.o.Random)
	if err != nil {
		return err
	}
	work := c.workDir()
	if c.state, err = readState(work, c.o.Random); err != nil {
		return err
	}
	if c.state.Print != v.seal.print() {
		c.state.Print, c.state.Tables = v.seal.print(), nil
	}
	if err := c.claim(ctx, v); err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	c.state.Target = c.o.Target
	if err := c.state.write(work); err != nil {
		return err
	}
	c.vault = v
	if err := c.survey(ctx); err != nil {
		c.vault = nil
		return err
	}
	return nil
}

// claim makes this archiver the one who writes to the target. One that has written there before does not take it back.
func (c *Archiver) claim(ctx context.Context, v *vault) error {
	id, now := c.o.Store.ID(), c.o.Now()
	err := v.readMarker(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if names, err := v.backups(ctx); err != nil || len(names) > 0 {
			return errors.Join(err, fmt.Errorf("%s is missing, although there are backups: %w", MarkerName, ErrDamaged))
		}
		return v.writeMarker(ctx, marker{Store: id, Writer: c.state.Writer, Since: stamp(now)})
	case err != nil:
		return err
	case v.marker.Store != id:
		return errStore
	case v.marker.Writer == c.state.Writer:
		return nil
	case c.state.Target == c.o.Target:
		return fmt.Errorf("%w (since %s)", errTaken, v.marker.Since)
	}
	c.o.Logf(true, "backup to %s: a server that wrote there since %s is taken over from: stop it, if it still runs", c.status.Target, v.marker.Since)
	return v.writeMarker(ctx, marker{Store: id, Writer: c.state.Writer, Since: stamp(now)})
}

// confirm fails if another one has taken the target over.
func (c *Archiver) confirm(ctx context.Context) error {
	if err := c.vault.readMarker(ctx); err != nil {
		return err
	}
	if m := c.vault.marker; m.Writer != c.state.Writer {
		return fmt.Errorf("%w (since %s)", errTaken, m.Since)
	}
	return nil
}

// survey learns which backups there are, and goes on behind the newest.
func (c *Archiver) survey(ctx context.Context) error {
	names, err := c.vault.backups(ctx)
	if err != nil {
		return err
	}
	var found []Backup
	var newest *manifest
	for _, name := range names {
		m, err := c.vault.manifest(ctx, name)
		if err != nil {
			c.o.Logf(true, "%v", err)
			continue
		}
		found = append(found, Backup{Name: name, Made: msTime(m.Made), Through: msTime(m.Through), Bytes: m.bytes()})
		newest = m
	}
	through := int64(0)
	if newest != nil {
		if through, err = c.resume(ctx, found[len(found)-1].Name, newest); err != nil {
			c.o.Logf(true, "the log cannot go on behind backup %s: %v", found[len(found)-1].Name, err)
			c.chain = chain{base: found[len(found)-1].Name, broken: true}
		}
	}
	c.note(func(s *Status) {
		s.Backups = found
		if newest == nil {
			return
		}
		b := &found[len(found)-1]
		s.Last, _ = backupTime(b.Name)
		s.Bytes, b.Through = b.Bytes, msTime(max(through, newest.Through))
		if !c.chain.broken {
			s.LogTime = b.Through
		}
	})
	c.o.Logf(false, "backup to %s: %d backups are there", c.status.Target, len(found))
	return nil
}

// keepState notes which pieces the tables of the newest snapshot have.
func (c *Archiver) keepState(tables map[string]table) error {
	c.state.Tables = tables
	return c.state.write(c.workDir())
}

package offsite

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"
)

// prune removes the backups that the plan does not keep, and then what none of those that stay names. The order matters: whatever
// is listed is whole, wherever this is cut short.
func (c *Archiver) prune(ctx context.Context) error {
	names, err := c.vault.backups(ctx)
	if err != nil {
		return err
	}
	kept := keptOf(names, c.planned(), c.o.Now())
	for _, name := range names {
		if kept[name] {
			continue
		}
		if err := c.vault.delete(ctx, backupPrefix+name); err != nil {
			return err
		}
		c.o.Logf(false, "backup %s was removed: backup-keep and backup-keep-days do not ask for it", name)
	}
	c.note(func(s *Status) {
		s.Backups = slices.DeleteFunc(s.Backups, func(b Backup) bool { return !kept[b.Name] })
	})
	return c.sweep(ctx, kept)
}

// keptOf returns which of the backups, the oldest of which is first, stay. The newest does in any case.
func keptOf(names []string, p Plan, now time.Time) map[string]bool {
	kept := map[string]bool{}
	for i, name := range names {
		made, _ := backupTime(name)
		newest := len(names) - i // 1 is the newest
		switch {
		case newest == 1, p.Keep == 0 && p.KeepFor == 0, newest <= p.Keep, p.KeepFor > 0 && now.Sub(made) < p.KeepFor:
			kept[name] = true
		}
	}
	return kept
}

// sweep removes the steps of backups that are gone, and the pieces that nobody names. If one of the objects that name pieces
// cannot be read, no piece is removed.
func (c *Archiver) sweep(ctx context.Context, kept map[string]bool) error {
	steps, err := c.vault.list(ctx, logPrefix)
	if err != nil {
		return err
	}
	for _, name := range steps {
		if backup := path.Base(path.Dir(name)); !kept[backup] {
			if err := c.vault.delete(ctx, name); err != nil {
				return err
			}
		}
	}
	named, err := c.vault.named(ctx, kept) // there is no log that no step tells: a backup was just made
	if err != nil {
		return errors.Join(errors.New("nothing is removed from the target"), err)
	}
	var gone []string
	err = c.vault.target.List(ctx, objectPrefix, func(name string, _ int64) error {
		if _, ok := named[path.Base(name)]; !ok {
			gone = append(gone, name)
		}
		return nil
	})
	for _, name := range gone {
		if err == nil {
			err = c.vault.delete(ctx, name)
		}
	}
	return err
}

// named returns the pieces that backups and the log behind them consist of.
func (v *vault) named(ctx context.Context, kept map[string]bool) (map[string]struct{}, error) {
	named := map[string]struct{}{}
	add := func(p piece) { named[strings.Clone(p.Name)] = struct{}{} }
	for name := range kept {
		m, err := v.manifest(ctx, name)
		if err != nil {
			return nil, err
		}
		m.names(add)
		err = v.steps(ctx, name, func(_ span, s *step) error {
			for _, p := range s.Log {
				add(p.piece)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

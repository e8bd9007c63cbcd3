package offsite

import (
	"context"
	"errors"
	"fmt"
)

// Checked is what Check found.
type Checked struct {
	Backups []Backup
	Objects int
	Bytes   int64
	Damage  []string
}

// Check reads all objects that backups consist of, and holds them against their names. Damage is in the result.
func Check(ctx context.Context, t Target, key []byte, progress func(what string, done, total int64)) (c Checked, err error) {
	v, err := openVault(ctx, t, key, nil)
	if err != nil {
		return c, err
	}
	names, err := v.backups(ctx)
	if err != nil {
		return c, err
	}
	seen := map[string]struct{}{}
	for _, name := range names {
		p := &choice{Restored: Restored{Backup: name}}
		if p.m, err = v.manifest(ctx, name); err == nil {
			err = p.goOn(ctx, v, noTime)
		}
		if err = c.found(err); err != nil {
			return c, err
		}
		if p.m == nil {
			continue
		}
		c.Backups = append(c.Backups, Backup{Name: name, Made: msTime(p.m.Made), Through: p.Through, Bytes: p.m.bytes()})
		p.m.names(func(o piece) {
			if _, ok := seen[o.Name]; ok || err != nil {
				return
			}
			seen[o.Name] = struct{}{}
			b, failed := v.fetch(ctx, o)
			if err = c.found(failed); failed == nil {
				c.Objects++
				c.Bytes += int64(len(b))
				progress("objects", c.Bytes, 0)
			}
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// found notes damage, and returns other errors.
func (c *Checked) found(err error) error {
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrIncomplete) {
		c.Damage = append(c.Damage, fmt.Sprint(err))
		return nil
	}
	return err
}

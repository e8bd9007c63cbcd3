package offsite

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// patience is how long one call of a target may take: 8 MiB in it are 30 KiB a second.
const patience = 5 * time.Minute

// vault is a target whose objects are named and sealed.
type vault struct {
	target Target
	seal   seal
	random io.Reader // of nonces
	marker marker
}

var (
	errNoBackup = errors.New("there is no backup here")
	errStore    = errors.New("it has backups of another store: give each its own prefix")
)

// openVault opens a target that has backups. key is nil for none.
func openVault(ctx context.Context, t Target, key []byte, random io.Reader) (*vault, error) {
	v, err := newVault(t, key, random)
	if err == nil {
		err = v.readMarker(ctx)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoBackup
	}
	return v, err
}

func newVault(t Target, key []byte, random io.Reader) (*vault, error) {
	s, err := newSeal(key)
	return &vault{target: t, seal: s, random: random}, err
}

// readMarker reads the marker again, and holds it against the key.
func (v *vault) readMarker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := v.target.Get(ctx, MarkerName)
	if err != nil {
		return fmt.Errorf("%s: %w", MarkerName, err)
	}
	var m marker
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("%s: %w", MarkerName, ErrDamaged)
	}
	print := v.seal.print()
	switch {
	case m.Format != formatNumber:
		return fmt.Errorf("%s: format %d, this version reads %d", MarkerName, m.Format, formatNumber)
	case m.Key != "" && print == "":
		return fmt.Errorf("the backups are encrypted, and there is no backup-key-file: %w", ErrKey)
	case m.Key == "" && print != "":
		return fmt.Errorf("the backups are not encrypted, and there is a backup-key-file: %w", ErrKey)
	case m.Key != print:
		return fmt.Errorf("the backups were encrypted with another key than that of backup-key-file: %w", ErrKey)
	}
	v.marker = m
	return nil
}

func (v *vault) writeMarker(ctx context.Context, m marker) error {
	m.Format, m.Key = formatNumber, v.seal.print()
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err = v.target.Put(ctx, MarkerName, append(b, '\n')); err == nil {
		v.marker = m
	}
	return err
}

func (v *vault) put(ctx context.Context, name string, content []byte) error {
	b, err := v.seal.close(name, content, v.random)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := v.target.Put(ctx, name, b); err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	return nil
}

func (v *vault) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := v.target.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", name, err)
	}
	return v.seal.open(name, b)
}

// fetch returns the content of a piece, after it was held against its name.
func (v *vault) fetch(ctx context.Context, p piece) ([]byte, error) {
	name := objectName(p.Name)
	b, err := v.get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, ErrIncomplete)
	}
	if err == nil && (int64(len(b)) != p.Bytes || v.seal.name(b) != p.Name) {
		err = fmt.Errorf("%s: its content is not what its name says: %w", name, ErrDamaged)
	}
	return b, err
}

// write uploads a document.
func (v *vault) write(ctx context.Context, name string, doc any) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(doc), z.Close()); err != nil {
		return err
	}
	return v.put(ctx, name, b.Bytes())
}

// read downloads a document.
func (v *vault) read(ctx context.Context, name string, doc any) error {
	b, err := v.get(ctx, name)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		err = json.NewDecoder(z).Decode(doc)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, z) // to its checksum
	}
	if err != nil {
		return fmt.Errorf("%s: %v: %w", name, err, ErrDamaged)
	}
	return nil
}

func (v *vault) manifest(ctx context.Context, backup string) (*manifest, error) {
	m := new(manifest)
	err := v.read(ctx, backupPrefix+backup, m)
	if err == nil {
		err = m.valid()
	}
	if err != nil {
		return nil, fmt.Errorf("backup %s: %w", backup, err)
	}
	return m, nil
}

func (v *vault) delete(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := v.target.Delete(ctx, name); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return nil
}

// list returns the names that begin with a prefix, in order.
func (v *vault) list(ctx context.Context, prefix string) (names []string, err error) {
	err = v.target.List(ctx, prefix, func(name string, _ int64) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return names, nil
}

// backups returns the names of the backups, the oldest first.
func (v *vault) backups(ctx context.Context) (names []string, err error) {
	all, err := v.list(ctx, backupPrefix)
	for _, name := range all {
		name = strings.TrimPrefix(name, backupPrefix)
		if _, ok := backupTime(name); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// steps calls f with the steps behind a backup, in order. One that is missing between others is an error.
func (v *vault) steps(ctx context.Context, backup string, f func(span, *step) error) error {
	names, err := v.list(ctx, logPrefix+backup+"/")
	if err != nil {
		return err
	}
	spans, missing := spansOf(names)
	for _, s := range spans {
		doc := new(step)
		if err := v.read(ctx, s.name(backup), doc); err != nil {
			return err
		}
		if doc.Format != formatNumber {
			return fmt.Errorf("%s: format %d, this version reads %d", s.name(backup), doc.Format, formatNumber)
		}
		if err := f(s, doc); err != nil {
			return err
		}
	}
	if missing > 0 {
		return fmt.Errorf("%s: step %d of the log is missing: %w", path.Join(logPrefix, backup), missing, ErrDamaged)
	}
	return nil
}

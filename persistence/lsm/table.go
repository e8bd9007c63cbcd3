package lsm

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// CreateTable begins a table at a path, with the options of the instance, which can take it in at a level. The device begins to
// write while the rest comes, as with the tables that Pebble makes.
func (d *Disk) CreateTable(fsys vfs.FS, path string, o *pebble.Options, level int) (*sstable.Writer, error) {
	f, err := fsys.Create(path, "vigil")
	if err != nil {
		return nil, err
	}
	d.RLock()
	form := d.DB.TableFormat()
	d.RUnlock()
	o.EnsureDefaults()
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{BytesPerSync: o.BytesPerSync})
	return sstable.NewWriter(objstorageprovider.NewFileWritable(f), o.MakeWriterOptions(level, form)), nil
}

package persistence

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// die ends the process: what it has written to the log is there, of the rest a part.
func (n *node) die(unsynced int) {
	n.replace(n.fs.DeathClone("db/log", vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: n.w.r}))
	n.w.effects["death"]++
}

// crash loses what the device does not have.
func (n *node) crash(unsynced int) {
	for _, o := range n.w.nodes {
		if o.lost {
			return // a majority must not lose anything at the same time
		}
	}
	n.lost = n.w.policy != SyncAlways
	n.boot++
	n.replace(n.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: n.w.r}))
	n.w.effects["crash"]++
}

// replace starts the member again on another disk.
func (n *node) replace(disk *disktest.Disk) {
	n.stop()
	n.fs = disk
	n.open()
	n.same("after a start")
}

// stop closes the store.
func (n *node) stop() {
	n.elected, n.leads, n.made, n.position, n.fed = 0, false, nil, nil, nil
	n.setRefuse(false)
	n.s.stopPasses()
	n.s.Member().Resign() // a pass that waits ends before the store may
	n.endPasses()
	closeStore(n.w, n.s)
}

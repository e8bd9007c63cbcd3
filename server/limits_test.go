package server

import (
	"fmt"
	"math"
	"testing"
)

func TestClientsFitTheLimitOfOpenFiles(t *testing.T) {
	for limit, want := range map[uint64]int64{0: 0, 30: 0, 43: 1, 100: 43, 1024: 736, 4096: 3064, 20000: 18968, 1 << 20: 1<<20 - 1032} {
		if got := ClientsFor(limit); got != want {
			t.Errorf("limit %d: %d clients, want %d", limit, got, want)
		}
	}
	for _, clients := range []int64{1, 2, 3, 43, 736, 3063, 3064, 10000, 1 << 20} {
		if need := FilesFor(clients); ClientsFor(need) < clients || ClientsFor(need-1) >= clients {
			t.Errorf("%d clients: a limit of %d allows %d, and one less %d", clients, need, ClientsFor(need), ClientsFor(need-1))
		}
	}
}

func TestMaxClientsBeyondTheLimitIsLoweredOrRefused(t *testing.T) {
	most := ClientsFor(openFilesLimit())
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--maxclients", fmt.Sprint(most+1)) })
	c := r.dial()
	c.want("CONFIG GET maxclients", fmt.Sprintf(`["maxclients" "%d"]`, most))
	if !r.log.has(fmt.Sprintf("maxclients has been reduced to %d", most)) {
		t.Error("the log does not say so")
	}
	c.want(fmt.Sprintf("CONFIG SET maxclients %d", most+1), fmt.Sprintf("(error) ERR CONFIG SET failed (possibly related to argument 'maxclients') - "+
		"The operating system is not able to handle the specified number of clients, try with %d", most))
	c.want("CONFIG SET maxclients 10", "OK")
	if got := r.srv.settings().maxClients; got != 10 {
		t.Errorf("%d clients may come, want 10", got)
	}
}

func TestArgumentsFitTheLimitOnTheSizeOfFiles(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	fit := func(limit uint64, want int64) {
		t.Helper()
		r.srv.fitBulk(limit)
		if got := r.srv.settings().limits.MaxBulk; got != want {
			t.Errorf("with a limit of %d arguments may have %d bytes, want %d", limit, got, want)
		}
	}
	for _, unlimited := range []uint64{math.MaxUint64, 2 << 30, 1 << 30} {
		fit(unlimited, 512<<20)
	}
	if r.log.has("The size of files is limited") {
		t.Error("the log speaks of a limit that does not matter")
	}
	fit(1000, leastBulk)
	fit(20<<20, 10<<20)
	if !r.log.has("Arguments of commands can have 10485760, and not the 536870912 of proto-max-bulk-len") {
		t.Error("the log does not say so")
	}
	// Whatever is set, by a client or by the members of a group.
	c.want("CONFIG SET proto-max-bulk-len 1gb", "OK")
	if got := r.srv.settings().limits.MaxBulk; got != 10<<20 {
		t.Errorf("arguments may have %d bytes after CONFIG SET", got)
	}
	c.want("CONFIG SET proto-max-bulk-len 2mb", "OK")
	if got := r.srv.settings().limits.MaxBulk; got != 2<<20 {
		t.Errorf("arguments may have %d bytes after CONFIG SET of less", got)
	}
}

func TestSegmentsFitTheLimitOnTheSizeOfFiles(t *testing.T) {
	for limit, want := range map[uint64]int64{math.MaxUint64: 0, 1 << 30: 0, 1<<30 - 1: 16 << 20, 20 << 20: 5 << 20, 1000: 64 << 10} {
		if got := segmentBytes(limit); got != want {
			t.Errorf("limit %d: segments of %d bytes, want %d", limit, got, want)
		}
	}
}

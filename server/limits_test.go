package server

import (
	"fmt"
	"math"
	"testing"
)

func TestClientsFitTheLimitOfOpenFiles(t *testing.T) {
	for limit, want := range map[uint64]int64{0: 0, 30: 0, 43: 1, 100: 43, 1024: 736, 4096: 3064, 20000: 18968, 1 << 20: 1<<20 - 1032} {
		if got := clientsFor(limit); got != want {
			t.Errorf("limit %d: %d clients, want %d", limit, got, want)
		}
	}
}

func TestMaxClientsBeyondTheLimitIsLoweredOrRefused(t *testing.T) {
	most := clientsFor(openFilesLimit())
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
	for _, unlimited := range []uint64{math.MaxUint64, 2 << 30, 1 << 30} {
		if err := r.srv.fitBulk(unlimited); err != nil || r.srv.settings().conf.ProtoMaxBulkLen != 512<<20 {
			t.Errorf("a limit of %d makes it %d: %v", unlimited, r.srv.settings().conf.ProtoMaxBulkLen, err)
		}
	}
	if err := r.srv.fitBulk(20 << 20); err != nil {
		t.Fatal(err)
	}
	c.want("CONFIG GET proto-max-bulk-len", `["proto-max-bulk-len" "10485760"]`)
	if !r.log.has("proto-max-bulk-len has been reduced to 10485760") {
		t.Error("the log does not say so")
	}
	if err := r.srv.fitBulk(1000); err != nil || r.srv.settings().conf.ProtoMaxBulkLen != leastBulk {
		t.Errorf("a limit of 1000 makes it %d: %v", r.srv.settings().conf.ProtoMaxBulkLen, err)
	}
}

func TestSegmentsFitTheLimitOnTheSizeOfFiles(t *testing.T) {
	for limit, want := range map[uint64]int64{math.MaxUint64: 0, 1 << 30: 0, 1<<30 - 1: 16 << 20, 20 << 20: 5 << 20, 1000: 64 << 10} {
		if got := segmentBytes(limit); got != want {
			t.Errorf("limit %d: segments of %d bytes, want %d", limit, got, want)
		}
	}
}

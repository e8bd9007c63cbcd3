package server

import (
	"bytes"
	"os"
	"strconv"
	"sync"
)

// ResidentBytes is the physical memory of the process, 0 if it is unknown.
func ResidentBytes() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// systemBytes is the physical memory of the machine, 0 if it is unknown. It is read
// once, as the system needs 20 us for that.
var systemBytes = sync.OnceValue(readSystemBytes)

func readSystemBytes() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, b, _ = bytes.Cut(b, []byte("MemTotal:"))
	fields := bytes.Fields(b)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

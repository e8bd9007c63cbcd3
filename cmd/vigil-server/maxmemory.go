package main

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/vigildb/vigil/server/conf"
)

// leastDerived is the least that stands for a maxmemory of 0: with less the server would do
// little but read the disk.
const leastDerived = 16 << 20

// budget is what the process may take for a maxmemory while data is loaded.
func budget(maxMemory int64) int64 { return maxMemory + maxMemory/4 + fixedMemory }

// loadedBudget is what it takes at rest, the memory of clients left out.
func loadedBudget(maxMemory int64) int64 { return maxMemory + maxMemory/2 + fixedMemory }

// derive returns what stands for a maxmemory of 0 under a limit on the process, 0 if that
// is not known: loadedBudget of it is the limit.
func (l memoryLimit) derive() int64 {
	if l.bytes == 0 {
		return 0
	}
	return max((l.bytes-fixedMemory)/3*2, leastDerived)
}

// derivedMaxMemory is l.derive, 0 for a configuration that keeps nothing on disk: there is
// nowhere that values could go.
func derivedMaxMemory(set *conf.Settings, l memoryLimit) int64 {
	if set.ThrowAway {
		return 0
	}
	return l.derive()
}

// reportMemory logs how much memory the server is going to use, and why.
func reportMemory(set *conf.Settings, l memoryLimit, log *slog.Logger) {
	derived := derivedMaxMemory(set, l)
	switch {
	case l.bytes == 0:
	case set.MaxMemory > 0:
	case derived == 0:
		log.Info("maxmemory is 0, and there is no limit: nothing is kept on disk")
	case set.MaxMemoryPolicy == conf.Spill:
		log.Info(fmt.Sprintf("maxmemory is 0: values move to disk beyond %s, as %s has %s of memory", megabytes(derived), l.of, megabytes(l.bytes)))
	default:
		log.Info(fmt.Sprintf("maxmemory is 0: a start reads up to %s, as %s has %s of memory, and with maxmemory-policy %s there is no other limit",
			megabytes(derived), l.of, megabytes(l.bytes), set.MaxMemoryPolicy))
	}
	if need := loadedBudget(cmp.Or(set.MaxMemory, derived)); need > fixedMemory && l.bytes > 0 && need > l.bytes {
		log.Warn(fmt.Sprintf("The process takes up to %s, but %s has %s of memory: the system may kill it. Allow it more memory, or lower maxmemory.",
			megabytes(need), l.of, megabytes(l.bytes)))
	}
}

// followMemory makes the process follow maxmemory, or what stands for it.
func followMemory(config *conf.Config, l memoryLimit) *memory {
	m := newMemory(func() int64 {
		set := config.Settings()
		return cmp.Or(set.MaxMemory, derivedMaxMemory(set, l))
	})
	m.watch()
	return m
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }

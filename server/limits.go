package server

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/conf"
)

const (
	// reservedFiles are for listeners, the log and files that are open for a
	// moment, as in Redis.
	reservedFiles = 32
	// storeFiles is the number of files that the store keeps open, and
	// storeShare its maximum share of the limit.
	storeFiles = 1000
	storeShare = 4
)

// filesOfStore is the number of files that the store may keep open.
func filesOfStore(limit uint64) int { return int(min(storeFiles, limit/storeShare)) }

// ClientsFor is the number of clients that a limit of open files allows.
func ClientsFor(limit uint64) int64 {
	reserved := reservedFiles + uint64(filesOfStore(limit))
	if limit <= reserved {
		return 0
	}
	return int64(min(limit-reserved, math.MaxInt64))
}

// FilesFor is the limit of open files that a number of clients needs.
func FilesFor(clients int64) uint64 {
	rest := reservedFiles + uint64(clients)
	return rest + min(storeFiles, (rest-1)/(storeShare-1))
}

// fitMaxClients lowers maxclients to what the system allows, and logs it: a
// server that runs out of files could neither accept clients nor write.
func (srv *Server) fitMaxClients() error {
	limit := openFilesLimit()
	wanted, most := int64(srv.settings().maxClients), ClientsFor(limit)
	if wanted <= most {
		return nil
	}
	if most < 1 {
		return fmt.Errorf("your current 'ulimit -n' of %d is not enough for the server to start", limit)
	}
	srv.logf(logWarning, "Current maximum open files is %d. maxclients has been reduced to %d to compensate for low ulimit. "+
		"If you need higher maxclients increase 'ulimit -n'.", limit, most)
	err := srv.config.Set(conf.Caller{Local: true}, []conf.Pair{{Name: "maxclients", Value: strconv.FormatInt(most, 10)}})
	srv.apply(srv.config.Settings())
	return err
}

// checkMaxClients is the hook of CONFIG SET maxclients.
func checkMaxClients(_, new *conf.Settings) error {
	if most := ClientsFor(openFilesLimit()); int64(new.MaxClients) > most {
		return commands.ErrTooManyClients(most)
	}
	return nil
}

// Where the size of files is limited, those of the log take one of fileParts of that, and leastSegment at least. An
// argument takes one of bulkParts, and leastBulk at least: a long record is a file by itself.
const (
	fileParts, leastSegment = 4, 64 << 10
	bulkParts, leastBulk    = 2, 1 << 20
)

// segmentBytes is how long the files of the log are under a limit on the size of files, 0 if any length will do.
func segmentBytes(limit uint64) int64 {
	if limit >= 1<<30 {
		return 0
	}
	return int64(min(max(limit/fileParts, leastSegment), 16<<20))
}

// fitBulk bounds arguments by what the size of files allows, and logs it if proto-max-bulk-len is more, now or later by what the members of
// a group share: a record that fits in no file would stay in memory, and keep all others from the disk.
func (srv *Server) fitBulk(limit uint64) {
	srv.opts.mostBulk = int64(max(min(limit/bulkParts, math.MaxInt64), leastBulk))
	if most := srv.opts.mostBulk; srv.settings().conf.ProtoMaxBulkLen > most {
		srv.logf(logWarning, "The size of files is limited to %d bytes. Arguments of commands can have %d, and not the %d of proto-max-bulk-len. "+
			"If you need longer values increase 'ulimit -f'.", limit, most, srv.settings().conf.ProtoMaxBulkLen)
	}
	srv.apply(srv.config.Settings())
}

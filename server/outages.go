package server

import (
	"sync/atomic"
	"time"
)

// outagePeriod is how often the server looks whether slots are down, while clients wait for keys: as often as Redis does.
const outagePeriod = 100 * time.Millisecond

// outages ends the waits for keys while slots of other groups are down and a call for any slot is refused for that reason
// (cluster-require-full-coverage): the clients get what a call gets, as in Redis. They would learn nothing otherwise, and those
// that could add to the keys are refused.
type outages struct {
	watched atomic.Bool // a look is due
}

// watch has the server look for outages, after a client has begun to wait for keys.
func (o *outages) watch(srv *Server) {
	if srv.opts.Group != nil && o.watched.CompareAndSwap(false, true) {
		srv.clock.AfterFunc(outagePeriod, srv.lookForOutage)
	}
}

// lookForOutage ends waits if slots are down, and looks again for as long as clients wait.
func (srv *Server) lookForOutage() {
	if srv.done.Err() != nil {
		return
	}
	if own, covered := srv.opts.Group.Shard(); own != nil && !covered {
		srv.endWaitsOfOutage()
	}
	srv.outages.watched.Store(false)
	if srv.blocked.Any() {
		srv.outages.watch(srv)
	}
}

func (srv *Server) endWaitsOfOutage() {
	for _, w := range srv.blocked.All() {
		if len(w.Keys) > 0 && srv.refusesUncovered(w.Command.Flags) {
			srv.blocked.Refuse(w, errClusterDown.WireError)
		}
	}
}

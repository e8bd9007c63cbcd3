package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/vigildb/vigil/server/conf"
)

// writePidFile writes the number of the process to the file that the
// configuration names, if any, and returns how to remove it. As with Redis a
// file that cannot be written is worth a warning, not the server: the stock
// redis.conf names one that only root can write.
func writePidFile(path string, log *slog.Logger) (remove func()) {
	if path == "" {
		return func() {}
	}
	err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o644)
	if err == nil {
		err = os.Chmod(path, 0o644) // others may read it, regardless of the umask
	}
	if err != nil {
		log.Warn(fmt.Sprintf("Failed to write PID file: %v", err))
		return func() {}
	}
	return func() {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			log.Warn(fmt.Sprintf("remove the PID file: %v", err))
		}
	}
}

// notifySupervisor notifies systemd that the state has changed ("READY=1"), if
// the configuration wants it and systemd started the process as Type=notify.
func notifySupervisor(set *conf.Settings, state string, log *slog.Logger) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" || set.Supervised != conf.SupervisedSystemd && set.Supervised != conf.SupervisedAuto {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		c.Close()
	}
	if err != nil {
		log.Warn(fmt.Sprintf("tell systemd: %v", err))
	}
}

// warnings are what the configuration asks for and cannot get from a process.
func warnings(set *conf.Settings) []string {
	var w []string
	if set.Daemonize {
		w = append(w, "daemonize yes: the server stays in the foreground; run it under a supervisor, or with nohup and &")
	}
	if set.Supervised == conf.SupervisedUpstart {
		w = append(w, "supervised upstart: not supported, only systemd is")
	}
	if set.ThrowAway {
		w = append(w, `save "" and appendonly no: data is in memory only and is lost when the server ends`)
	}
	if isRoot() {
		w = append(w, "running as root: a separate user is safer")
	}
	return w
}

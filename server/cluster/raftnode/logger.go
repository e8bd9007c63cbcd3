package raftnode

import (
	"fmt"

	"github.com/vigildb/vigil/server/cluster/logs"

	"go.etcd.io/raft/v3"
)

// logger writes what raft has to say. Its ordinary lines help only in the search for a
// fault.
type logger struct {
	logf logs.Func
}

var _ raft.Logger = logger{}

func (l logger) Debug(v ...any)                   { l.logf(logs.Debug, "%s", fmt.Sprint(v...)) }
func (l logger) Debugf(format string, v ...any)   { l.logf(logs.Debug, format, v...) }
func (l logger) Info(v ...any)                    { l.logf(logs.Debug, "%s", fmt.Sprint(v...)) }
func (l logger) Infof(format string, v ...any)    { l.logf(logs.Debug, format, v...) }
func (l logger) Warning(v ...any)                 { l.logf(logs.Info, "%s", fmt.Sprint(v...)) }
func (l logger) Warningf(format string, v ...any) { l.logf(logs.Info, format, v...) }
func (l logger) Error(v ...any)                   { l.logf(logs.Warn, "%s", fmt.Sprint(v...)) }
func (l logger) Errorf(format string, v ...any)   { l.logf(logs.Warn, format, v...) }
func (l logger) Fatal(v ...any)                   { panic(fmt.Sprint(v...)) }
func (l logger) Fatalf(format string, v ...any)   { panic(fmt.Sprintf(format, v...)) }
func (l logger) Panic(v ...any)                   { panic(fmt.Sprint(v...)) }
func (l logger) Panicf(format string, v ...any)   { panic(fmt.Sprintf(format, v...)) }

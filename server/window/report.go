package window

import (
	"sort"
	"strings"

	"github.com/vigildb/vigil/server/internal/report"
)

// What the window has of the server's report.
type (
	answer   = report.Answer
	call     = report.Call
	database = report.Database
	figures  = report.Figures
	observer = report.Observer
)

const answerTime = report.AnswerTime

// maxClientList is up to how many clients CLIENT LIST is asked.
const maxClientList = 2000

type client map[string]string

// listClients asks for the clients, unless there are so many that their list would
// be a burden.
func (w *Window) listClients(f *figures) ([]client, error) {
	if f.Number("connected_clients") > maxClientList {
		return nil, nil
	}
	answers, err := w.observer.Ask(answerTime, 0, call{"CLIENT", "LIST"})
	if err != nil {
		return nil, err
	}
	if err := answers[0].Err(); err != nil {
		return nil, err
	}
	var all []client
	for line := range strings.Lines(answers[0].String()) {
		c := client{}
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			c[name] = value
		}
		all = append(all, c)
	}
	sort.SliceStable(all, func(i, j int) bool { return report.Number(all[i]["tot-mem"]) > report.Number(all[j]["tot-mem"]) })
	return all, nil
}

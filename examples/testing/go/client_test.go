package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"
)

var simulator struct {
	BaseURL    string `json:"base_url"`
	APIKey     string `json:"api_key"`
	ControlURL string `json:"control_url"`
}

// TestMain starts one simulator for all tests.
func TestMain(m *testing.M) {
	kiln := exec.Command("kiln", "simulate", "--json", "--port", "0", "--ready-after", "0")
	output, err := kiln.StdoutPipe()
	if err == nil {
		err = kiln.Start()
	}
	// It prints its settings as soon as it accepts requests.
	if err == nil {
		err = json.NewDecoder(output).Decode(&simulator)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	kiln.Process.Signal(os.Interrupt)
	kiln.Wait()
	os.Exit(code)
}

// control posts to the control port, which takes no key.
func control(t *testing.T, path, body string) (answer struct{ Count int }) {
	t.Helper()
	url := simulator.ControlURL + path
	response, err := http.Post(url, "application/json", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal(path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func fox(t *testing.T) {
	t.Helper()
	picture, err := PictureOf(simulator.BaseURL, simulator.APIKey, "a red fox")
	if err != nil || !bytes.HasPrefix(picture, []byte{0xff, 0xd8}) {
		t.Fatal("no picture: ", err)
	}
}

func TestAPictureIsPaidForOnce(t *testing.T) {
	control(t, "/api/reset", "{}")
	fox(t)
	found := control(t, "/api/requests/verify",
		`{"operation": "gen-2-pro", "status": 200, "request": {"prompt": "a red fox"}}`)
	if found.Count != 1 {
		t.Fatal(found.Count, "submissions")
	}
}

func TestAFailedPollIsRepeated(t *testing.T) {
	control(t, "/api/reset", "{}")
	control(t, "/api/faults", `{"rule": "html-502@poll:2x"}`)
	fox(t)
	if found := control(t, "/api/requests/verify", `{"fault": "html-502"}`); found.Count != 2 {
		t.Fatal(found.Count, "failed polls")
	}
	if found := control(t, "/api/requests/verify", `{"method": "POST"}`); found.Count != 1 {
		t.Fatal(found.Count, "submissions")
	}
}

{{/* What the containers of both modes share. */}}

{{- define "tokendraw.selector" -}}
app.kubernetes.io/name: tokendraw
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tokendraw.labels" -}}
{{ include "tokendraw.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "tokendraw.container" -}}
name: tokendraw
image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
resources:
  requests:
    cpu: {{ .Values.threads | quote }}
    memory: {{ .Values.memory.request }}
  limits:
    memory: {{ .Values.memory.limit }}
{{- end }}

{{- define "tokendraw.flags" -}}
- --listen=unix:/run/tokendraw/tokendraw.sock
- --threads={{ .Values.threads }}
- --max_queued_bytes={{ .Values.maxQueuedBytes | int64 }}
- --grace_ms=10000
- --metrics_listen=0.0.0.0:9464
- --log_format=json
{{- end }}

{{/* Asks over the socket file: kubelet's own gRPC probe needs a port that is open to the network and
     knows no TLS. The empty name is the process, to be restarted only when it hangs; the service's
     name is ready until it drains. */}}
{{- define "tokendraw.socketProbes" -}}
startupProbe:
  exec:
    command: [tokendraw, health, --server=unix:/run/tokendraw/tokendraw.sock]
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 30
readinessProbe:
  exec:
    command: [tokendraw, health, --server=unix:/run/tokendraw/tokendraw.sock]
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 1
livenessProbe:
  exec:
    command: [tokendraw, health, --server=unix:/run/tokendraw/tokendraw.sock, --service=]
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 3
{{- end }}

{{- define "tokendraw.portProbes" -}}
startupProbe:
  grpc:
    port: 50051
    service: tokendraw.v1.SamplingService
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 30
readinessProbe:
  grpc:
    port: 50051
    service: tokendraw.v1.SamplingService
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 1
livenessProbe:
  grpc:
    port: 50051
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 3
{{- end }}

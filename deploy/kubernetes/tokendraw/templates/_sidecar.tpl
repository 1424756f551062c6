{{/* For the pods of your own chart, which has this one as a dependency:

     metadata:
       labels: # for the PodMonitor
         {{- include "tokendraw.selector" .Subcharts.tokendraw | nindent 4 }}
     spec:
       securityContext:
         fsGroup: 10001
       initContainers:
         {{- include "tokendraw.sidecar" .Subcharts.tokendraw | nindent 4 }}
       containers:
         - volumeMounts:
             {{- include "tokendraw.workerMounts" .Subcharts.tokendraw | nindent 8 }}
       volumes:
         {{- include "tokendraw.volumes" .Subcharts.tokendraw | nindent 4 }}

     The server reads rows that its own user or root wrote: the worker runs as root, or both get one
     user from the pod's runAsUser. fsGroup lets either use the socket and the rows of the other.
     It has no preStop: kubelet ends native sidecars after the workers, and runs their preStop long
     before that. */}}
{{- define "tokendraw.sidecar" -}}
- {{ include "tokendraw.container" . | nindent 2 | trim }}
  restartPolicy: Always
  args:
    {{- include "tokendraw.flags" . | nindent 4 }}
    - --socket_mode=0660
    - --shm_dir=/rows
  ports:
    - name: metrics
      containerPort: 9464
  {{- include "tokendraw.socketProbes" . | nindent 2 }}
  volumeMounts:
    - name: tokendraw-socket
      mountPath: /run/tokendraw
    - name: tokendraw-rows
      mountPath: /rows
      readOnly: true
{{- end }}

{{- define "tokendraw.workerMounts" -}}
- name: tokendraw-socket
  mountPath: /run/tokendraw
- name: tokendraw-rows
  mountPath: /rows
{{- end }}

{{- define "tokendraw.volumes" -}}
- name: tokendraw-socket
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
- name: tokendraw-rows
  emptyDir:
    medium: Memory
    sizeLimit: {{ .Values.sidecar.rowsSizeLimit }}
{{- end }}

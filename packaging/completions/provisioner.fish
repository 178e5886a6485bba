# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_provisioner_global_optspecs
    string join \n h/help V/version
end

function __fish_provisioner_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_provisioner_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_provisioner_using_subcommand
    set -l cmd (__fish_provisioner_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c provisioner -n "__fish_provisioner_needs_command" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_needs_command" -s V -l version -d 'Print version'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "init" -d 'Write the configuration of a new cluster, with a cluster ID of its own; asks on a terminal for what no flag says'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "plan" -d 'Show what `apply` would create, change and delete; exit 0: nothing, 2: something, 3: only an unhealthy server, 78: something is in the way'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "apply" -d 'Create what is missing, mend what was changed, and bring up the cluster on its machines'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "status" -d 'What there is, with each machine\'s node, part in etcd and place behind the balancer'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "destroy" -d 'Delete what this cluster owns'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "userdata" -d 'The user-data of one machine, without the cloud'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "bundle" -d 'The secrets of one machine, without the cloud: what belongs at /etc/nodeinit/secrets.yaml there'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "master" -d 'Add or remove masters'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "worker" -d 'Add or remove workers'
complete -c provisioner -n "__fish_provisioner_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l file -d 'The file to write' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l name -d 'The cluster\'s name' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l image -d 'The image of the machines, by name or ID' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l flavor -d 'The flavor of the machines, by name or ID' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l access -d 'The address range that may use SSH and the API, such as 192.0.2.0/24' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l masters -d 'Number of masters' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l workers -d 'Number of workers' -r
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -l force -d 'Replace the file if it exists'
complete -c provisioner -n "__fish_provisioner_using_subcommand init" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l kubeconfig -d 'Where the administrator\'s kubeconfig is written; CLUSTER.kubeconfig if unset' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l resources-only -d 'See to the resources only, and leave the machines to themselves'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l break-lock -d 'Take the cluster\'s lock over at once; only where the run that holds it is known to be dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -l replace-balancer -d 'Replace a load balancer in ERROR; clients cannot reach the API until the new one is ACTIVE'
complete -c provisioner -n "__fish_provisioner_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -l resources-only -d 'Tell of the cloud\'s resources only, and ask no machine'
complete -c provisioner -n "__fish_provisioner_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l yes -d 'Do not ask for confirmation'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -l break-lock -d 'Take the cluster\'s lock over at once; only where the run that holds it is known to be dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand destroy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand userdata" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l out -d 'Write them into this file, mode 0600, instead of printing them' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand bundle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -f -a "add" -d 'Create one machine of the configuration, and make it a part of the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -f -a "remove" -d 'Take one machine out of the cluster, drained, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l kubeconfig -d 'Where the administrator\'s kubeconfig is written; CLUSTER.kubeconfig if unset' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l break-lock -d 'Take the cluster\'s lock over at once; only where the run that holds it is known to be dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -l resources-only -d 'See to the resources only, and leave the machines to themselves'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l kubeconfig -d 'Where the administrator\'s kubeconfig is written; CLUSTER.kubeconfig if unset' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l break-lock -d 'Take the cluster\'s lock over at once; only where the run that holds it is known to be dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l resources-only -d 'See to the resources only, and leave the machines to themselves'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -l force -d 'Proceed even if etcd loses quorum and unmanaged pods are deleted'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create one machine of the configuration, and make it a part of the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take one machine out of the cluster, drained, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -s h -l help -d 'Print help'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -f -a "add" -d 'Create one machine of the configuration, and make it a part of the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -f -a "remove" -d 'Take one machine out of the cluster, drained, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l kubeconfig -d 'Where the administrator\'s kubeconfig is written; CLUSTER.kubeconfig if unset' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l break-lock -d 'Take the cluster\'s lock over at once; only where the run that holds it is known to be dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -l resources-only -d 'See to the resources only, and leave the machines to themselves'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file; repeat it, the later wins' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l secrets -d 'The secrets bundle; `apply` makes it for a new cluster' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l output -d 'Text for people, or one JSON object a line' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l kubeconfig -d 'Where the administrator\'s kubeconfig is written; CLUSTER.kubeconfig if unset' -r -F
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l break-lock -d 'Take the cluster\'s lock over at once; only where the run that holds it is known to be dead'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l resources-only -d 'See to the resources only, and leave the machines to themselves'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -l force -d 'Proceed even if etcd loses quorum and unmanaged pods are deleted'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "add" -d 'Create one machine of the configuration, and make it a part of the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take one machine out of the cluster, drained, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "init" -d 'Write the configuration of a new cluster, with a cluster ID of its own; asks on a terminal for what no flag says'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "plan" -d 'Show what `apply` would create, change and delete; exit 0: nothing, 2: something, 3: only an unhealthy server, 78: something is in the way'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "apply" -d 'Create what is missing, mend what was changed, and bring up the cluster on its machines'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "status" -d 'What there is, with each machine\'s node, part in etcd and place behind the balancer'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "destroy" -d 'Delete what this cluster owns'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "userdata" -d 'The user-data of one machine, without the cloud'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "bundle" -d 'The secrets of one machine, without the cloud: what belongs at /etc/nodeinit/secrets.yaml there'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "master" -d 'Add or remove masters'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "worker" -d 'Add or remove workers'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and not __fish_seen_subcommand_from init plan apply status destroy userdata bundle master worker help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "add" -d 'Create one machine of the configuration, and make it a part of the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "remove" -d 'Take one machine out of the cluster, drained, and delete its resources'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "add" -d 'Create one machine of the configuration, and make it a part of the cluster'
complete -c provisioner -n "__fish_provisioner_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "remove" -d 'Take one machine out of the cluster, drained, and delete its resources'
